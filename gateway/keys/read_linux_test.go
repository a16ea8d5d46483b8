package keys_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/jeton-dev/jeton/gateway/keys"
)

// A file that cannot be read is tried again, however often: what is wrong is not in it.
func TestAFileThatCannotBeRead(t *testing.T) {
	const path = "/proc/self/mem" // a regular file whose beginning is an error
	r := new(keys.Reader)
	for range 2 {
		if _, err := r.Read(path); !errors.Is(err, syscall.EIO) {
			t.Fatalf("it is read with %v", err)
		}
	}
}
