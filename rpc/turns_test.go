package rpc

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestOneAtATime checks that calls wait for their turn, and that one whose caller is gone does not.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(turns, 1)
		done, err := all.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all.take(gone); status.Code(err) != codes.Canceled {
			t.Errorf("a caller that is gone: %v", err)
		}
		waited := false
		go func() {
			next, err := all.take(t.Context())
			if waited = true; err != nil {
				t.Error(err)
				return
			}
			next()
		}()
		synctest.Wait()
		if waited {
			t.Error("two have a turn at once")
		}
		done()
		synctest.Wait()
		if !waited {
			t.Error("the next one has no turn")
		}
	})
}
