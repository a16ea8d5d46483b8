package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

var errFrozen = errors.New("frozen")

// TestHearing follows one other node: it answers, is frozen, comes back, and is killed.
func TestHearing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := ring.NodeID{1}
		type reply struct {
			pong
			fault error // errFrozen is none at all
		}
		var does atomic.Pointer[reply]
		does.Store(&reply{pong: pong{ID: other, Hears: []ring.NodeID{{2}}}})
		h := &hearing{
			others: func() map[ring.NodeID]string { return map[ring.NodeID]string{other: "there"} },
			ping: func(ctx context.Context, _ string) (pong, error) {
				r := does.Load()
				if errors.Is(r.fault, errFrozen) {
					<-ctx.Done()
					return pong{}, ctx.Err()
				}
				return r.pong, r.fault
			},
			after: func() {}, of: map[ring.NodeID]heard{},
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.run(ctx, func() <-chan struct{} { return nil })
		}()
		is := func(what string, after time.Duration, want Answering) heard {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			got := h.look()[other]
			if got.answering != want {
				t.Errorf("%s: it is %q, want %q", what, got.answering, want)
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
		if got.takes() || !got.since.Equal(froze) {
			t.Errorf("a frozen node is %+v; it was frozen at %v", got, froze)
		}
		does.Store(&reply{pong: pong{ID: other}})
		is("it answers again", hearEvery+hearWithin, Answers)
		does.Store(&reply{fault: syscall.ECONNREFUSED})
		is("nothing listens there", hearEvery, Unreachable)
		does.Store(&reply{pong: pong{ID: ring.NodeID{3}}})
		is("another one answers there", hearEvery, Unreachable)
		does.Store(&reply{pong: pong{ID: other, Refuses: "its clock is off"}})
		if got := is("it answers and refuses", hearEvery, Answers); got.takes() {
			t.Errorf("a node that refuses is %+v", got)
		}
		cancel()
		<-ended
	})
}

// TestDecidingOfThree: a cluster of three says what it can decide when one node is lost, when two are, and when they are back.
func TestDecidingOfThree(t *testing.T) {
	r := newRig(t)
	all := r.chairs(3)
	expecting(3, all...)
	startAll(all...)
	a := all[0]
	says := func(want string) func() bool {
		return func() bool { return a.cluster.Deciding().String() == want }
	}
	a.soon("all is well", says("every key can be decided"))
	all[1].stop()
	a.soon("one does not answer", func() bool {
		s := a.cluster.Status(t.Context())
		return s.Nodes[1].Answering == Unreachable && s.Nodes[1].SilentSeconds > 0
	})
	if !says("every key can be decided")() {
		t.Errorf("without one of three: %v", a.cluster.Deciding())
	}
	all[2].stop()
	a.soon("nothing is decided", says("no key can be decided: 2 of 3 nodes do not answer: b and c"))
	a.says("WARN", "no key can be decided")
	if d := a.cluster.Deciding(); d.Verdict != ring.DecidesNone || d.Undecided != 7 || d.Partitions != 7 || d.Degraded() != "" {
		t.Errorf("without two of three: %+v", d)
	}
	all[1].start()
	a.soon("all is well again", says("every key can be decided"))
	a.says("INFO", "every key can be decided again")
}

// TestDecidingRefused: a node that decides nothing says so of itself, and the others do not count on it.
func TestDecidingRefused(t *testing.T) {
	r := newRig(t)
	all := r.chairs(3)
	expecting(3, all...)
	for _, ch := range all[1:] {
		ch.config.Refuses = func() string { return "its clock is off" }
	}
	startAll(all...)
	all[0].soon("the others refuse", func() bool {
		return all[0].cluster.Deciding().String() == "no key can be decided: replicas b and c take no reservations"
	})
	if d := all[1].cluster.Deciding(); d.String() != "no key can be decided: its clock is off" {
		t.Errorf("the node that refuses says: %v", d)
	}
}
