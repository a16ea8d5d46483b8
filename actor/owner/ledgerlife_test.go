package owner_test

import (
	"maps"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// streamsFor is a limit of permits.
func streamsFor(tb reporter, n int64, lease time.Duration) *limit.Rule {
	tb.Helper()
	return ruleFor(tb, limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: n, Lease: lease})
}

// decides lets a check be decided, with replicas that answer at once.
func (s *stage) decides(cost int64, rules ...*limit.Rule) limit.Decision {
	s.tb.Helper()
	s.quick = []int{0, 1, 2}
	tag := s.check(cost, rules...)
	s.pass(10 * ms)
	return s.decision(tag)
}

// An owner that has given receipts of a window is not idle while they can come back: it alone knows them.
func TestAnOwnerWaitsForItsReceipts(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	d := s.decides(1, ruleFor(t, limit.Limit{Name: "smooth", Algorithm: limit.SlidingWindow, Capacity: 2, Window: time.Minute}))
	for range 3 {
		s.pass(10 * second)
		if idle, again := s.owner.Idle(s.clock()); idle || again < s.clock()+second {
			t.Errorf("after %v it is idle: %v, until %v", time.Duration(s.clock()-start), idle, time.Duration(again-s.clock()))
		}
	}
	if !s.owner.Return(d.Receipts[0], s.clock(), &s.out) {
		t.Error("the return had no effect")
	}
	s.pass(2 * time.Minute.Nanoseconds())
	if idle, _ := s.owner.Idle(s.clock()); !idle {
		t.Error("it is never idle again")
	}
}

// What came back under other numbers, and what was taken ahead under them, is room for no check by the new ones.
func TestRoomEndsWithTheNumbers(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	before, after := sliding(t, 100), sliding(t, 10)
	d := s.decides(90, before)
	if !d.Allowed || !s.owner.Return(d.Receipts[0], s.clock(), &s.out) {
		t.Fatalf("%+v", d)
	}
	admitted := 0
	for range 100 {
		if s.decides(1, after).Allowed {
			admitted++
		}
	}
	if admitted != 10 {
		t.Errorf("%d of 10 were admitted under the new limit", admitted)
	}
}

// Nothing comes back across a reset, although another owner has made it.
func TestNothingComesBackAcrossAResetElsewhere(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ruleFor(t, limit.Limit{Name: "smooth", Algorithm: limit.SlidingWindow, Capacity: 5, Window: time.Hour})
	a, b := tr.enter('A'), tr.enter('B')
	before := a.decides(5, rule)
	b.quick = []int{0, 1, 2}
	tag := b.reset(rule)
	b.pass(10 * ms)
	b.done(tag)
	a.pass(2 * second) // its ledger is old by now: it asks again
	if d := a.decides(5, rule); !d.Allowed {
		t.Fatalf("after the reset: %+v", d)
	}
	if a.owner.Return(before.Receipts[0], a.clock(), &a.out) {
		t.Error("an admission from before the reset came back")
	}
	if d := a.decides(1, rule); d.Allowed {
		t.Error("six of five since the reset")
	}
	// Who writes the ledger anew keeps the number of the reset, so a third owner knows it too.
	c := tr.enter('C')
	b.pass(2 * second)
	c.decides(1, rule)
	if b.decides(1, rule).Allowed {
		t.Error("another one of five")
	}
}

// A permit that nobody was given goes back: its check was denied by another limit, or its time was over.
func TestUnclaimedPermitsGoBack(t *testing.T) {
	streams := streamsFor(t, 1, time.Hour)
	t.Run("denied by another limit", func(t *testing.T) {
		tr := newTroupe(t, 3)
		a, b := tr.enter('A'), tr.enter('B')
		bucket := mustRule(t, "bucket", 1, 1, time.Hour)
		b.decides(1, bucket) // it is empty, which A does not know
		if d := a.decides(1, streams, bucket); d.Allowed {
			t.Fatalf("%+v", d)
		}
		a.pass(second)
		if d := b.decides(1, streams); !d.Allowed {
			t.Errorf("nobody is inside, and the next one is to wait for %v", d.Limits[0].RetryAfter)
		}
	})
	t.Run("its time is over", func(t *testing.T) {
		tr := newTroupe(t, 3)
		a, b := tr.enter('A'), tr.enter('B')
		a.checkBy(5*ms, 1, streams)
		a.deliver(0, 1) // the claim; the write is under way
		a.pass(6 * ms)
		a.deliver(0, 1)
		a.quick = []int{0, 1, 2}
		a.pass(2 * second)
		if d := b.decides(1, streams); !d.Allowed {
			t.Errorf("nobody is inside, and the next one is to wait for %v", d.Limits[0].RetryAfter)
		}
	})
}

// A permit is not given once it has ended, however long its check waited for it.
func TestNoPermitIsGivenThatHasEnded(t *testing.T) {
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	c := a.checkBy(30*second, 1, streamsFor(t, 1, time.Second))
	a.deliver(0, 1)
	late := a.post[len(a.post)-1]
	a.pass(3 * second)
	late.Now = a.clock()
	a.quick = []int{0, 1, 2}
	a.bring(late, 0)
	a.bring(late, 1)
	a.pass(10 * ms)
	if r := a.admitted(c); r.End <= a.clock() {
		t.Errorf("it ended %v before it was given", time.Duration(a.clock()-r.End))
	}
}

// The first receipt of a permit that was extended is as good as the last one: its return reaches the other owners.
func TestReturnOfAnExtendedPermit(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := streamsFor(t, 1, 30*time.Second)
	first := a.decides(1, rule).Receipts[0]
	a.pass(20 * second)
	tag := a.tag()
	a.owner.Check(owner.Check{Tag: tag, At: a.clock(), Deadline: a.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 1, Receipts: true, Extend: first.Serial}, &a.out)
	a.after()
	a.pass(10 * ms)
	a.admitted(tag)
	a.pass(15 * second)
	if !a.leaves(rule, first) {
		t.Fatal("it had no effect")
	}
	if d := b.decides(1, rule); !d.Allowed {
		t.Errorf("another owner is to wait for %v", d.Limits[0].RetryAfter)
	}
}

// Replicas that sweep keep a ledger for as long as something in it counts.
func TestSweepsKeepLiveLedgers(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := ruleFor(t, limit.Limit{Name: "smooth", Algorithm: limit.SlidingWindow, Capacity: 1, Window: time.Hour})
	a.decides(1, rule)
	for _, after := range []struct {
		passed  time.Duration
		allowed bool
	}{{30 * time.Minute, false}, {40 * time.Minute, true}} {
		b.pass(after.passed.Nanoseconds())
		for _, r := range tr.replicas {
			r.sweep(tr.now - time.Minute.Nanoseconds())
		}
		if d := b.decides(1, rule); d.Allowed != after.allowed {
			t.Errorf("%v later: %+v, want allowed %v", after.passed, d, after.allowed)
		}
	}
}

// sweep deletes what a replica may delete at a horizon.
func (r *replica) sweep(horizon int64) {
	r.partition.Horizon = horizon
	maps.DeleteFunc(r.registers, func(_ string, reg register.Register) bool { return reg.Swept(horizon) })
}
