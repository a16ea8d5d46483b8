package nemesis

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Errors are sorted by what they mean to a caller, over every protocol.
func TestReason(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{fmt.Errorf("asked: %w", context.DeadlineExceeded), "deadline"},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, "deadline"},
		{context.Canceled, "canceled"},
		{fmt.Errorf("%w: two of three", limit.ErrUnavailable), "unavailable"},
		{limit.ErrOverloaded, "overloaded"},
		{&url.Error{Op: "Post", URL: "http://127.0.0.1:1", Err: reset}, "connection"},
		{fmt.Errorf("by Redis: %w", reset), "connection"},
		{fmt.Errorf("node at 10.0.0.1:7700: odd"), "other: a node: odd"},
	} {
		if got := reason(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
