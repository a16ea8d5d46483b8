package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

func ruleFor(tb reporter, l limit.Limit) *limit.Rule {
	tb.Helper()
	rule, err := l.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

func sliding(tb reporter, n int64) *limit.Rule {
	return ruleFor(tb, limit.Limit{Name: "smooth", Algorithm: limit.SlidingWindow, Capacity: n, Window: time.Minute})
}

func TestASlidingWindowCountsWhatIsInIt(t *testing.T) {
	s, rule := alone(t), sliding(t, 3)
	for i := range int64(3) {
		if o := s.decision(s.check(1, rule)).Limits[0]; !o.Allowed || o.Remaining != 2-i {
			t.Fatalf("check %d got %+v", i, o)
		}
		s.pass(10 * second)
	}
	if o := s.denied(s.check(1, rule)); o.Remaining != 0 || o.RetryAfter != 31*time.Second || o.ResetAfter != 51*time.Second {
		t.Errorf("a fourth check after 30 s got %+v", o)
	}
	s.pass(31*second - 1)
	s.denied(s.check(1, rule))
	s.pass(1)
	s.admitted(s.check(1, rule))
	s.denied(s.check(1, rule))
}

// A first check claims the ledger and writes it; the next ones write. A denial asks nothing of the replicas.
func TestWhatALedgerCosts(t *testing.T) {
	s, rule := alone(t), sliding(t, 3)
	for i, sends := range []int{2, 3, 4, 4, 4} {
		s.check(1, rule)
		if len(s.sent) != sends {
			t.Fatalf("after check %d, %d reservations were sent, want %d", i, len(s.sent), sends)
		}
	}
	s.pass(10*owner100ms + 1)
	s.denied(s.check(1, rule)) // whether another owner has given something back is not known any more
	s.wantSends(5)
}

const owner100ms = 100 * ms

func TestAnotherOwnerGoesOnFromTheLedger(t *testing.T) {
	tr, rule := newTroupe(t, 3), sliding(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	a.quick, b.quick = []int{0, 1}, []int{1, 2}
	soon := func(s *stage, cost int64) int { // a reservation may be refused, and the third replica is silent
		tag := s.check(cost, rule)
		s.pass(10 * ms)
		return tag
	}
	a.admitted(soon(a, 2))
	b.admitted(soon(b, 1))
	b.denied(soon(b, 1))
	a.pass(10*owner100ms + 1)
	a.denied(soon(a, 1))
	a.pass(60*second - 100*ms)
	a.denied(soon(a, 1)) // what B has written counts for half a second longer, for another owner
	a.pass(600 * ms)
	a.admitted(soon(a, 3))
	a.denied(soon(a, 1))
}

// Where one replica has a floor, another one that is late by some milliseconds is waited for: without it, the bucket is closed for as long as
// entries count.
func TestLateReplicaDoesNotCloseALedger(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ruleFor(t, limit.Limit{Name: "w", Algorithm: limit.SlidingWindow, Capacity: 10, Window: time.Hour})
	tr.enter('A').decides(1, rule)
	tr.now += second
	tr.replicas[0].amnesia(tr.now, tr.bounds)
	b := tr.enter('B')
	b.quick = []int{0, 1}
	check := b.checkBy(second, 1, rule)
	b.pass(10 * ms)
	b.quick = []int{0, 1, 2}
	b.waits(check)
	b.deliver(2)
	b.pass(100 * ms)
	b.admitted(check)
}

func TestConcurrencyIsReleasedByTime(t *testing.T) {
	s := alone(t)
	rule := ruleFor(t, limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: 2, Lease: 30 * time.Second})
	first := s.admitted(s.check(1, rule))
	s.pass(10 * second)
	s.admitted(s.check(1, rule))
	if first.Serial == 0 || first.End-first.Start != 30*second {
		t.Errorf("the receipt is %+v", first)
	}
	if o := s.denied(s.check(1, rule)); o.RetryAfter != 20*time.Second {
		t.Errorf("a third one got %+v", o)
	}
	s.pass(20 * second)
	s.admitted(s.check(1, rule))
	s.denied(s.check(1, rule))
}

// A permit that comes back makes room for another one, once.
func TestConcurrencyIsReleasedByReturns(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	a.quick, b.quick = []int{0, 1, 2}, []int{0, 1, 2}
	rule := ruleFor(t, limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: 2, Lease: 30 * time.Second})
	first := a.admitted(a.check(1, rule))
	a.admitted(a.check(1, rule))
	a.denied(a.check(1, rule))
	if !a.leaves(rule, first) || a.leaves(rule, first) {
		t.Fatal("a permit comes back once")
	}
	third := a.admitted(a.check(1, rule))
	a.denied(a.check(1, rule))
	soon := func(s *stage, cost int64) int {
		tag := s.check(cost, rule)
		s.pass(10 * ms)
		return tag
	}
	b.pass(100*ms + 1)
	b.denied(soon(b, 1))        // second and third are inside
	if !a.leaves(rule, third) { // B has claimed the ledger
		t.Fatal("the third has not come back")
	}
	a.admitted(soon(a, 1))
	b.pass(100*ms + 1)
	b.denied(soon(b, 1))
}

func TestReturnsToASlidingWindow(t *testing.T) {
	s, rule := alone(t), sliding(t, 2)
	first := s.admitted(s.check(1, rule))
	s.admitted(s.check(1, rule))
	s.pass(10 * second)
	s.denied(s.check(1, rule))
	if !s.owner.Return(first, s.clock(), &s.out) {
		t.Fatal("the return took no effect")
	}
	if s.owner.Return(first, s.clock(), &s.out) {
		t.Error("it took effect twice")
	}
	s.admitted(s.check(1, rule))
	s.denied(s.check(1, rule))
}

func TestResetOfALedger(t *testing.T) {
	tr, rule := newTroupe(t, 3), sliding(t, 2)
	a, b := tr.enter('A'), tr.enter('B')
	a.quick, b.quick = []int{0, 1, 2}, []int{0, 1, 2}
	a.admitted(a.check(2, rule))
	a.denied(a.check(1, rule))
	tag := b.reset(rule)
	b.pass(10 * ms)
	b.done(tag)
	b.admitted(b.check(1, rule))
	a.pass(1000*ms + 1)
	tag = a.check(1, rule)
	a.pass(10 * ms)
	a.admitted(tag)
	a.denied(a.check(1, rule))
	streams := ruleFor(t, limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: 2, Lease: 30 * time.Second})
	if r, ok := a.reply(a.reset(streams)); !ok || r.Err == nil {
		t.Errorf("a reset of permits was answered %v: %v", ok, r.Err)
	}
}

func TestLimitsOfBothKindsTogether(t *testing.T) {
	s := alone(t)
	both := []*limit.Rule{mustRule(t, "bucket", 5, 1, time.Hour), sliding(t, 3)}
	for range 3 {
		s.admitted(s.check(1, both...))
	}
	d := s.decision(s.check(1, both...))
	if d.Allowed || !d.Limits[0].Allowed || d.Limits[1].Allowed {
		t.Fatalf("got %+v", d)
	}
	s.admitted(s.check(2, both[0])) // the denied check has taken nothing of it
	s.denied(s.check(1, both[0]))
}

// A permit that is extended before its lease is over lasts a lease from then on, at any owner. One that has ended is denied.
func TestPermitsAreExtended(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	a.quick, b.quick = []int{0, 1, 2}, []int{0, 1, 2}
	rule := ruleFor(t, limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: 2, Lease: 30 * time.Second})
	extend := func(s *stage, id uint64) int {
		tag := s.tag()
		s.owner.Check(owner.Check{
			Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 1, Receipts: true, Extend: id,
		}, &s.out)
		s.after()
		s.pass(10 * ms)
		return tag
	}
	first, second := a.admitted(a.check(1, rule)), a.admitted(a.check(1, rule))
	a.pass(20 * seconds)
	longer := b.admitted(extend(b, first.Serial))
	if longer.Serial != first.Serial || longer.End != longer.Start+30*seconds || longer.Start < first.Start+20*seconds {
		t.Fatalf("%+v was extended to %+v", first, longer)
	}
	b.denied(b.check(1, rule)) // both are inside
	b.pass(11 * seconds)       // the second has ended by A's clock, and for B half a second later
	third := b.admitted(b.check(1, rule))
	b.denied(b.check(1, rule))
	b.denied(extend(b, second.Serial))
	b.denied(extend(b, 12345))
	if !b.leaves(rule, third) {
		t.Error("the third has not come back")
	}
	b.denied(extend(b, third.Serial))
	b.pass(30 * seconds)
	b.denied(extend(b, first.Serial))
	for range 2 {
		b.admitted(b.check(1, rule))
	}
}

const seconds = second // where a second is a permit
