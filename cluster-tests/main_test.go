package clustertests

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// long is a flag of this package's tests: go test ./cluster-tests -run TestEvent -long
var long = flag.Bool("long", false, "give every event its full length: minutes, where CI has seconds for it")

// lasting is how long something lasts: short in CI, and full with -long.
func lasting(short, full time.Duration) time.Duration {
	if *long {
		return full
	}
	return short
}

// silent discards what go-redis says of connections that are refused.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	code := m.Run()
	if err := process.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
