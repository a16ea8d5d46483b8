package nodes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A lonely call has nowhere else to go.
type lonely struct{}

func (lonely) more() bool                         { return false }
func (lonely) later() bool                        { return true }
func (lonely) again(context.Context) (int, error) { return 0, nil }

// TestAttemptsThatWereGivenUp ends attempts in the ways in which a client itself ends them: nobody is told that he has canceled.
func TestAttemptsThatWereGivenUp(t *testing.T) {
	for _, test := range []struct {
		what   string
		after  time.Duration
		cancel bool // the caller does
		want   error
	}{
		{"in time", time.Millisecond, false, errSilent},
		{"when the deadline has passed", time.Second, false, context.DeadlineExceeded},
		{"when the caller has canceled", time.Millisecond, true, context.Canceled},
	} {
		t.Run(test.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &Node{health: newPatient(t).health}
				caller, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := &call{ctx: caller, deadline: time.Now().Add(time.Second)}
				var try attempt[int]
				ctx := try.begin(c, n, lonely{})
				try.giveUp()
				<-ctx.Done()
				pass(test.after)
				if test.cancel {
					cancel()
				}
				if _, err := try.end(n, 0, context.Canceled); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}
