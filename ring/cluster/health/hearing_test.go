package health

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

var errFrozen = errors.New("frozen")

// TestHearing follows one other node: it answers, is frozen, comes back, and is killed.
func TestHearing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := ring.NodeID{1}
		type reply struct {
			message.Pong
			fault error // errFrozen is none at all
		}
		var does atomic.Pointer[reply]
		does.Store(&reply{Pong: message.Pong{ID: other, Hears: []ring.NodeID{{2}}}})
		h := &pinger{
			others: func() map[ring.NodeID]string { return map[ring.NodeID]string{other: "there"} },
			ping: func(ctx context.Context, _ string) (message.Pong, error) {
				r := does.Load()
				if errors.Is(r.fault, errFrozen) {
					<-ctx.Done()
					return message.Pong{}, ctx.Err()
				}
				return r.Pong, r.fault
			},
			afterRound: func() {}, nodes: map[ring.NodeID]Heard{},
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.run(ctx, func() <-chan struct{} { return nil })
		}()
		is := func(what string, after time.Duration, want Answering) Heard {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			got := h.Heard()[other]
			if got.Answering != want {
				t.Errorf("%s: it is %q, want %q", what, got.Answering, want)
			}
			return got
		}
		if got := is("at first", 0, Answers); !got.takes() || !got.hears[ring.NodeID{2}] {
			t.Errorf("a node that answers is %+v", got)
		}
		does.Store(&reply{fault: errFrozen})
		froze := time.Now()
		is("one ping is unanswered", hearEvery+hearWithin, Suspect)
		got := is("within two seconds", 2*time.Second-hearEvery-hearWithin, Unreachable)
		if got.takes() || !got.Since.Equal(froze) {
			t.Errorf("a frozen node is %+v; it was frozen at %v", got, froze)
		}
		does.Store(&reply{Pong: message.Pong{ID: other}})
		is("it answers again", hearEvery+hearWithin, Answers)
		does.Store(&reply{fault: syscall.ECONNREFUSED})
		is("nothing listens there", hearEvery, Unreachable)
		does.Store(&reply{Pong: message.Pong{ID: ring.NodeID{3}}})
		is("another one answers there", hearEvery, Unreachable)
		does.Store(&reply{Pong: message.Pong{ID: other, Refuses: "its clock is off"}})
		if got := is("it answers and refuses", hearEvery, Answers); got.takes() {
			t.Errorf("a node that refuses is %+v", got)
		}
		cancel()
		<-ended
	})
}
