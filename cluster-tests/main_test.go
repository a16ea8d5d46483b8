package clustertests

import (
	"fmt"
	"os"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := process.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
