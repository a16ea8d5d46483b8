package actor

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

// TestInventedLimits has one key checked under thousands of names that its caller makes up. The actor must not keep a
// bucket for each, and the registers must.
func TestInventedLimits(t *testing.T) {
	const names = 3000
	s := start(t, Config{Replicas: []Replica{newRegisters(clock.New().Now)}, IdleAfter: time.Hour})
	ask := func(i int) limit.Decision {
		return decide(t, s, limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{
			Name: fmt.Sprint("n", i), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour},
		})}})
	}
	for i := range names {
		if d := ask(i); !d.Allowed {
			t.Fatalf("the first check of %d: %+v", i, d)
		}
	}
	kept := 0
	count := func(_ *shard, a *actor) { kept = len(a.owner.Views(0)) }
	if err := s.ask(t.Context(), &mail{kind: look, key: "k", others: &others{looked: count}}); err != nil {
		t.Fatal(err)
	}
	if kept > names/10 {
		t.Errorf("the actor keeps %d buckets of %d", kept, names)
	}
	for _, i := range []int{0, names / 2, names - 1} {
		if d := ask(i); d.Allowed {
			t.Errorf("the second check of %d is allowed", i)
		}
	}
}

// While checks of a key wait, callers cannot make it hold ever more buckets by inventing limits.
func TestInventedLimitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("k")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		var waiting []<-chan result
		for i := range 2 * maxInvented {
			rs := limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{
				Name: "l" + strconv.Itoa(i), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour},
			})}}
			waiting = append(waiting, ask(t.Context(), s, rs))
			synctest.Wait()
		}
		refused := 0
		g.open()
		for _, w := range waiting {
			if got := settled(t, w); errors.Is(got.err, limit.ErrOverloaded) {
				refused++
			} else if got.err != nil || !got.Allowed {
				t.Errorf("%+v", got)
			}
		}
		if refused < maxInvented/2 || refused > maxInvented+1 {
			t.Errorf("%d of %d were turned away, want about %d", refused, 2*maxInvented, maxInvented)
		}
		if got := drain(t, s, "k", "demo"); got != 10 {
			t.Errorf("%d were admitted under a stored limit, want 10", got)
		}
	})
}

// TestInventedLimitsStayFew has a key whose invented limits are not idle, though nobody waits: there are receipts of them, or
// line that was reserved ahead. The key has no more of them than there may be, and is served.
func TestInventedLimitsStayFew(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{newRegisters(clock.New().Now)}, IdleAfter: time.Hour})
	ask := func(name string, receipt bool) (limit.Decision, error) {
		r := inline("k", 1, name, 10, "10/1h")
		r.Receipt = receipt
		return s.Check(t.Context(), r)
	}
	for i := range 20 * maxInvented {
		if d, err := ask("n"+strconv.Itoa(i), true); err != nil || !d.Allowed {
			t.Fatalf("the first check of %d: %+v, %v", i, d, err)
		}
	}
	kept := 0
	count := func(_ *shard, a *actor) { kept = a.owner.Buckets() }
	if err := s.ask(t.Context(), &mail{kind: look, key: "k", others: &others{looked: count}}); err != nil {
		t.Fatal(err)
	}
	if kept > maxInvented {
		t.Errorf("the actor keeps %d buckets, want at most %d", kept, maxInvented)
	}
	for i, want := range []int64{8, 7} {
		if d, err := ask("n0", false); err != nil || d.Limits[0].Remaining != want {
			t.Errorf("the first limit, whose receipts are forgotten, %d: %+v, %v", i, d, err)
		}
	}
}
