package owner_test

import (
	"context"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A permit comes back at an owner that never heard of it, while its own is gone, and its place is free for everyone at once.
func TestPermitComesBackAtAnotherOwner(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := streamsFor(t, 1, 24*time.Hour)
	permit := tr.enter('A').decides(1, rule).Receipts[0] // A dies
	b, c := tr.enter('B'), tr.enter('C')
	if d := c.decides(1, rule); d.Allowed {
		t.Fatal("two inside")
	}
	fromReceipt, err := limit.PermitRule(permit)
	if err != nil {
		t.Fatal(err)
	}
	if !b.leaves(fromReceipt, permit) {
		t.Fatal("the return had no effect")
	}
	c.pass(100 * ms) // it denies by what it knows for so long
	for _, s := range []*stage{c, b} {
		if d := s.decides(1, rule); d.Allowed != (s == c) {
			t.Errorf("owner %c answers %+v", s.name[0], d)
		}
	}
}

// An owner whose permits are out is idle, and can be forgotten.
func TestAnOwnerOfPermitsIsIdle(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := streamsFor(t, 2, time.Hour)
	permit := s.decides(1, rule).Receipts[0]
	if idle, again := s.owner.Idle(s.clock()); !idle {
		t.Errorf("it is kept until %v", time.Duration(again-start))
	}
	s.owner = owner.New(s.cfg, s.name, 0)
	if !s.leaves(rule, permit) {
		t.Error("the return had no effect")
	}
	if idle, again := s.owner.Idle(s.clock()); !idle {
		t.Errorf("after the return it is kept until %v", time.Duration(again-start))
	}
}

// A permit is taken out once, however often it comes back: one after the other, at once, and at several owners.
func TestPermitIsTakenOutOnce(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := streamsFor(t, 2, time.Hour)
	a.decides(1, rule)
	permit := a.decides(1, rule).Receipts[0]
	twice := []owner.Permit{{Rule: rule, ID: permit.Serial}, {Rule: rule, ID: permit.Serial}}
	b.quick = []int{0, 1, 2}
	first, second, both := a.leaves(rule, permit), a.leaves(rule, permit), b.takeOut(twice)
	b.pass(10 * ms)
	b.done(both)
	if !first || second || twice[0].Out || twice[1].Out {
		t.Errorf("taken out: %v, then %v, elsewhere %v and %v", first, second, twice[0].Out, twice[1].Out)
	}
	if !b.decides(1, rule).Allowed || b.decides(1, rule).Allowed {
		t.Error("one place is free, not more and not less")
	}
}

// Several permits come back, and checks wait behind them: one write does for all.
func TestReturnsAndChecksShareAWrite(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := streamsFor(t, 2, time.Hour)
	one, two := s.decides(1, rule).Receipts[0], s.decides(1, rule).Receipts[0]
	sent := len(s.sent)
	s.quick = nil
	back := []owner.Permit{{Rule: rule, ID: one.Serial}, {Rule: rule, ID: two.Serial}}
	first := s.takeOut(back[:1])
	second, third, fourth := s.takeOut(back[1:]), s.check(1, rule), s.check(1, rule)
	s.deliver(0, 1)
	s.deliver(0, 1)
	s.done(first)
	s.done(second)
	s.admitted(third)
	s.admitted(fourth)
	if n := len(s.sent) - sent; n != 2 || !back[0].Out || !back[1].Out {
		t.Errorf("%d reservations, want one for the first return and one for the rest; taken out: %+v", n, back)
	}
}

// A return races with the write of another owner: that one is refused, and the permit stays out.
func TestReturnRacesWithAWrite(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := streamsFor(t, 2, time.Hour)
	permit := a.decides(1, rule).Receipts[0]
	a.quick = nil
	next := a.check(1, rule) // written, with the permit inside, and under way
	late := a.post[len(a.post)-1]
	a.bring(late, 2)
	if !b.leaves(rule, permit) {
		t.Fatal("the return had no effect")
	}
	a.waits(next)
	a.bring(late, 0)
	a.bring(late, 1)
	a.quick = []int{0, 1, 2}
	a.pass(100 * ms)
	a.admitted(next)
	if !b.decides(1, rule).Allowed || b.decides(1, rule).Allowed {
		t.Error("one is inside, and one place is free")
	}
}

// A return that only a minority has stored when its owner dies is made anew: what a claim is told may be too little.
func TestReturnOfAReturn(t *testing.T) {
	for name, told := range map[string][]int{"told that it is out": {0, 1}, "told that it is inside": {1, 2}} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			rule := streamsFor(t, 1, time.Hour)
			permit := a.decides(1, rule).Receipts[0]
			a.quick = nil
			a.takeOut([]owner.Permit{{Rule: rule, ID: permit.Serial}})
			a.deliver(0) // and A dies
			b, c := tr.enter('B'), tr.enter('C')
			b.quick = told
			again := b.takeOut([]owner.Permit{{Rule: rule, ID: permit.Serial}})
			b.pass(100 * ms)
			b.done(again)
			c.quick = []int{1, 2}
			tag := c.check(1, rule)
			c.pass(100 * ms)
			c.admitted(tag)
		})
	}
}

// Without replicas, a return is answered when its time is over, and its owner is not kept for it.
func TestReturnWithoutReplicas(t *testing.T) {
	a := newTroupe(t, 3).enter('A')
	rule := streamsFor(t, 1, time.Hour)
	permit := a.decides(1, rule).Receipts[0]
	a.quick = nil
	before := len(a.sent)
	tag := a.takeOut([]owner.Permit{{Rule: rule, ID: permit.Serial}})
	a.pass(60 * second)
	a.failed(tag, context.DeadlineExceeded)
	if n := len(a.sent) - before; n > 31*50 {
		t.Errorf("%d reservations in a minute", n)
	}
	if idle, _ := a.owner.Idle(a.clock()); !idle {
		t.Error("its owner is kept")
	}
}

// Where a majority has forgotten what was stored, a return has no effect: the bucket is closed until all leases are over.
func TestReturnOfWhatIsForgotten(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := streamsFor(t, 1, time.Hour)
	permit := tr.enter('A').decides(1, rule).Receipts[0]
	for _, r := range tr.replicas[:2] {
		r.amnesia(tr.now, tr.bounds)
	}
	b := tr.enter('B')
	if b.leaves(rule, permit) {
		t.Error("it is told to be out")
	}
	if d := b.decides(1, rule); d.Allowed {
		t.Error("the bucket is open")
	}
}

// A permit that most replicas list is taken out, though the answers say so that come first: one replica has lost its disk, and another
// is silent for a moment.
func TestReturnWaitsForSilence(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := streamsFor(t, 1, time.Hour)
	permit := tr.enter('A').decides(1, rule).Receipts[0]
	tr.now += second
	tr.replicas[0].amnesia(tr.now, tr.bounds)
	b := tr.enter('B')
	b.quick = []int{0, 1}
	permits := []owner.Permit{{Rule: rule, ID: permit.Serial}}
	tag := b.takeOut(permits)
	b.pass(50 * ms)
	b.quick = []int{0, 1, 2}
	b.pass(second)
	b.done(tag)
	if !permits[0].Out {
		t.Error("the return had no effect: nobody is inside, and nobody can enter for an hour")
	}
	if d := b.decides(1, rule); !d.Allowed {
		t.Errorf("%+v", d)
	}
}

// A permit comes back although an owner whose clock was ahead has claimed its bucket far ahead.
func TestReturnWaitsForLineFarAhead(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := streamsFor(t, 1, time.Hour)
	permit := tr.enter('A').decides(1, rule).Receipts[0]
	tr.now += second
	tr.claimedUpTo(tr.now + 20*second)
	b := tr.enter('B')
	b.quickAll()
	permits := []owner.Permit{{Rule: rule, ID: permit.Serial}}
	tag := b.takeOut(permits)
	b.pass(29 * second)
	b.done(tag)
	if !permits[0].Out {
		t.Error("the return had no effect")
	}
}

// Floors of which an owner was told for one return say nothing of the next one: by a clock that is ahead of its own they are over, and
// another client has entered since.
func TestReturnGoesByTheFloorsOfNow(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := streamsFor(t, 1, time.Minute)
	lost := tr.enter('A').decides(1, rule).Receipts[0]
	for _, r := range tr.replicas {
		r.amnesia(tr.now, tr.bounds)
	}
	over := tr.now + tr.bounds.EpsMax + rule.Lead()
	slow := tr.enter('S')
	slow.ahead = -200 * ms
	slow.quickAll()
	back := func(serial uint64) bool {
		permits := []owner.Permit{{Rule: rule, ID: serial}}
		tag := slow.takeOut(permits)
		slow.pass(10 * second)
		slow.done(tag)
		return permits[0].Out
	}
	if back(lost.Serial) {
		t.Fatal("a permit came back that no replica knows")
	}
	tr.now = over + 50*ms
	fast := tr.enter('F')
	fast.ahead = 0
	fast.quickAll()
	if !back(fast.decides(1, rule).Receipts[0].Serial) {
		t.Error("the return had no effect")
	}
}

// Permits of several limits come back together, and one that no owner ever gave is none.
func TestPermitsOfSeveralLimits(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	streams := streamsFor(t, 1, time.Hour)
	uploads := ruleFor(t, limit.Limit{Name: "uploads", Algorithm: limit.Concurrency, Capacity: 1, Lease: time.Minute})
	d := a.decides(1, streams, uploads)
	b.quick = []int{0, 1, 2}
	back := []owner.Permit{
		{Rule: streams, ID: d.Receipts[0].Serial}, {Rule: uploads, ID: d.Receipts[1].Serial}, {Rule: uploads, ID: 7},
	}
	tag := b.takeOut(back)
	b.pass(10 * ms)
	b.done(tag)
	if !back[0].Out || !back[1].Out || back[2].Out {
		t.Errorf("taken out: %+v", back)
	}
	if d := b.decides(1, streams, uploads); !d.Allowed {
		t.Errorf("their places are taken: %+v", d)
	}
}

// A permit that was written for a check, by a write whose answers were lost, goes back, although another owner goes on from it.
func TestPermitsOfLostWritesGoBack(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := streamsFor(t, 1, time.Hour)
	a.checkBy(5*ms, 1, rule)
	a.deliver(0, 1) // the claim
	lost := a.post[len(a.post)-1]
	for _, i := range []int{0, 1} {
		tr.replicas[i].reserve(lost, tr.now, tr.bounds)
	}
	a.quick = []int{0, 1, 2}
	a.pass(2 * second)
	if d := b.decides(1, rule); !d.Allowed {
		t.Errorf("nobody is inside, and the next one is to wait for %v", d.Limits[0].RetryAfter)
	}
}

// Whoever extends a permit that has ended is told that only a new check can enter; not before this is known.
func TestExtensionOfWhatHasEnded(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := streamsFor(t, 1, 30*time.Second)
	b.decides(0, rule) // what B knows is a moment old when A admits
	permit := a.decides(1, rule).Receipts[0]
	extends := func(s *stage) limit.Decision {
		t.Helper()
		s.quick = []int{0, 1, 2}
		tag := s.extend(rule, permit)
		s.pass(10 * ms)
		return s.decision(tag)
	}
	if d := extends(b); !d.Allowed {
		t.Errorf("while it lasts: %+v", d)
	}
	b.pass(31 * second)
	if d := extends(b); d.Allowed || !d.Limits[0].Never || !d.Limits[0].Ended || d.Limits[0].RetryAfter != 0 {
		t.Errorf("after its lease: %+v", d)
	}
	a.pass(100 * ms)
	if again := a.decides(1, rule); !again.Allowed {
		t.Fatalf("a new check: %+v", again)
	} else {
		permit = again.Receipts[0]
	}
	a.leaves(rule, permit)
	if d := extends(a); d.Allowed || !d.Limits[0].Ended {
		t.Errorf("after its return: %+v", d)
	}
}

// An extension is answered after the end that the permit had when the replicas were asked, because their answers came so late.
// Meanwhile another owner may have extended it: its end is told only when it is known from a later question.
func TestExtensionWhoseAnswersAreLate(t *testing.T) {
	for name, stored := range map[string]bool{"the claim is late": false, "the write is late": true} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a, b, c := tr.enter('A'), tr.enter('B'), tr.enter('C')
			rule := streamsFor(t, 1, 30*time.Second)
			permit := a.decides(1, rule).Receipts[0]
			b.quick, c.quick = []int{0, 1, 2}, []int{0, 1, 2}
			from := b
			if stored {
				from = a
			}
			from.quick = nil
			late := from.extend(rule, permit)
			asked := from.post[len(from.post)-1]
			answers := make([]owner.Answer, 0, len(tr.replicas))
			for i, r := range tr.replicas {
				answers = append(answers, understood(r.reserve(asked, tr.now, tr.bounds), i, asked))
			}
			tr.now += 20 * second
			c.admitted(c.extend(rule, permit))
			tr.now += 15 * second
			for _, answer := range answers {
				from.hear(answer)
			}
			from.waits(late)
			from.quick = []int{0, 1, 2}
			from.pass(100 * ms)
			from.admitted(late)
		})
	}
}
