package actor

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/owner"
)

// Every actor that is to be visited is, in the order of the queue, and the places of those that were are given back.
func TestQueue(t *testing.T) {
	var q visitQueue
	as := make([]actor, 5*queuePiece+1)
	next := 0
	for i := range as {
		q.add(&as[i])
		if i%3 == 0 {
			continue
		}
		if got := q.next(); got != &as[next] {
			t.Fatalf("visit %d: another's turn", next)
		}
		q.pop()
		next++
	}
	for ; next < len(as); next++ {
		if q.next() != &as[next] {
			t.Fatalf("visit %d: another's turn", next)
		}
		q.pop()
	}
	if q.next() != nil || len(q.pieces) > 0 {
		t.Errorf("%v is left, in %d pieces", q.next(), len(q.pieces))
	}
}

// An actor waits for its visit no longer than it is left alone, and at least half as long, as far as there are queues for it.
func TestPaces(t *testing.T) {
	const idleAfter = time.Second
	slowest := int64(idleAfter) << (paces - 1)
	for range 1000 {
		wait := rand.Int64N(2 * slowest)
		every := int64(idleAfter) << paceOf(wait, idleAfter)
		if every > max(wait, int64(idleAfter)) || every < slowest && every <= wait/2 {
			t.Fatalf("who is left alone for %v is visited every %v", time.Duration(wait), time.Duration(every))
		}
	}
}

// The next visit is the one that is due first, of whatever pace; those who look for something to give up come to every pace.
func TestVisits(t *testing.T) {
	var v visits
	as := make([]actor, 3*paces)
	for i := range as {
		as[i].visit = int64(i)
		v.queues[(i*5)%paces].add(&as[i])
	}
	seen := map[int]bool{}
	for range 2 * paces {
		a, pace := v.inTurn()
		if a == nil || a != v.queues[pace].next() {
			t.Fatalf("%v is in turn, of pace %d", a, pace)
		}
		seen[pace] = true
	}
	if len(seen) != paces {
		t.Errorf("%d paces had their turn, want %d", len(seen), paces)
	}
	for i := range as {
		a, pace := v.next()
		if a != &as[i] {
			t.Fatalf("visit %d: another's turn", i)
		}
		v.queues[pace].pop()
	}
	if a, _ := v.next(); a != nil {
		t.Errorf("%v is left", a)
	}
	if a, _ := v.inTurn(); a != nil {
		t.Errorf("%v is in turn", a)
	}
}

// What only remembers a receipt, for ten minutes, is not looked at every second.
func TestFewVisits(t *testing.T) {
	const alone = time.Duration(owner.DefaultReturnFor) - time.Minute
	synctest.Test(t, func(t *testing.T) {
		var steps atomic.Int64
		s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}, beforeStep: func(string) { steps.Add(1) }})
		r := spend("a", 1, "slow")
		r.Receipt = true
		if got := settled(t, ask(t.Context(), s, r)); got.err != nil || !got.Allowed {
			t.Fatalf("%+v", got)
		}
		pass(alone)
		if o := overview(t, s); o.Awake != 1 {
			t.Fatalf("%d keys are awake, want the one with a receipt", o.Awake)
		}
		if n := steps.Load(); n > 40 {
			t.Errorf("%d steps were taken for a key that was left alone for %v", n, alone)
		}
	})
}
