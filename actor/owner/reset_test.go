package owner_test

import (
	"context"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

func TestReset(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	old := s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
	s.done(s.reset(rule))
	v := s.view("login")
	if want := start + rule.Reach() + s.bounds.Slack(); v.Generation != want {
		t.Errorf("generation %d, want the position %d", v.Generation, want)
	}
	s.ignored(old)
	r := s.admitted(s.check(10, rule))
	if r.Start != start || r.Generation != v.Generation {
		t.Errorf("spent %+v", r)
	}
	s.denied(s.check(1, rule))
	s.done(s.reset(rule)) // once more, in the same nanosecond
	if again := s.view("login").Generation; again <= v.Generation {
		t.Errorf("generation %d after %d", again, v.Generation)
	}
	s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
}

// A reset of a bucket that the owner has never met, and of one that is full.
func TestResetOfAFullBucket(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.done(s.reset(rule))
	s.done(s.reset(rule))
	s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
}

// A reset by an owner that has just appeared, while a register says that the bucket is empty.
func TestResetByAColdOwner(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(10, rule))
	next := s.enter('B')
	next.quick = s.quick
	next.done(next.reset(rule))
	next.admitted(next.check(10, rule))
	next.denied(next.check(1, rule))

	s.denied(s.check(1, rule)) // from memory: it has not heard of the reset
	s.pass(second)
	if r := s.admitted(s.check(1, rule)); r.Start != start+10*second {
		t.Errorf("spent %+v, want what follows the 10 s that were spent since the reset", r.Span)
	}
	if got, want := s.view("login").Generation, next.view("login").Generation; got != want {
		t.Errorf("generation %d, want %d", got, want)
	}
}

// What an owner holds at the time of a reset elsewhere may still be spent once; then it learns.
func TestSegmentOutstandingAtAReset(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	a.quick, b.quick = []int{0, 1, 2}, []int{0, 1, 2}
	rule := mustRule(t, "hot", 100, 100, time.Second)
	for a.view1("hot").Hi < a.view1("hot").TAT.NS+30*ms {
		a.admitted(a.check(1, rule))
	}
	held := a.view("hot")
	b.done(b.reset(rule))
	r := a.admitted(a.check(1, rule))
	if r.Generation != held.Generation || r.End > held.Hi {
		t.Fatalf("spent %+v, want a piece of the held segment", r)
	}
	for r.Generation == held.Generation {
		r = a.admitted(a.check(1, rule))
	}
	if r.Generation != b.view("hot").Generation {
		t.Errorf("generation %d, want that of the reset", r.Generation)
	}
}

// view1 is a view of a bucket that may not be there yet.
func (s *stage) view1(name string) owner.View {
	v, _ := s.owner.View(name, s.now)
	return v
}

// Checks that wait before a reset are decided before it, those after it find the bucket full.
func TestResetKeepsItsPlace(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(4, rule))
	s.quick = nil
	before, reset := s.check(6, rule), s.reset(rule)
	s.denied(s.check(7, rule)) // for the time being this is too much, and who is denied does not wait
	after := s.check(3, rule)
	s.waits(before, reset, after)
	s.deliver(0)
	s.admitted(before)
	s.waits(reset, after)
	s.quick = []int{0}
	s.deliver(0)
	s.done(reset)
	if o := s.decision(after).Limits[0]; !o.Allowed || o.Remaining != 7 {
		t.Errorf("after the reset: %+v", o)
	}
}

// A reservation in flight when the reset's turn comes belongs to the old generation: its answers count no more.
func TestResetDropsWhatIsInFlight(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	expired := s.checkBy(ms, 10, rule)
	old := s.post[0]
	s.pass(2 * ms)
	reset := s.reset(rule)
	s.wantSends(2)
	s.bring(old, 0)
	s.bring(old, 1)
	s.waits(reset)
	if v := s.view("login"); v.Hi != 0 {
		t.Errorf("holds a segment up to %d of the generation that is being left", v.Hi)
	}
	s.deliver(0, 1)
	s.done(reset)
	s.failed(expired, context.DeadlineExceeded)
	c := s.check(10, rule)
	s.deliver(0, 1)
	s.admitted(c)
}

// Two owners reset at once: one of them is told of the other's newer generation, and both are done.
func TestTwoOwnersReset(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := mustRule(t, "login", 10, 1, time.Second)
	ra := a.reset(rule)
	tr.now += ms
	rb := b.reset(rule)
	b.deliver(0)
	a.deliver(0, 1, 2) // refused by the first, accepted by the others
	b.deliver(1, 2)
	b.done(rb)
	for range 10 {
		if _, ok := a.reply(ra); ok {
			break
		}
		a.pass(10 * ms)
		a.deliver(0, 1, 2)
	}
	a.done(ra)
	c := a.check(10, rule)
	a.deliver(0, 1, 2)
	a.admitted(c)
	b.quick = []int{0, 1, 2}
	b.denied(b.check(1, rule))
}

// A reset that no replica accepts fails at its deadline. If its messages arrive all the same, the bucket is reset.
func TestResetThatFailedButHappened(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	c := s.check(10, rule)
	s.deliver(0)
	s.admitted(c)
	s.owner.Reset("reset", rule, s.now, s.now+10*ms, &s.out)
	s.after()
	s.pass(20 * ms)
	if r := s.answers[len(s.answers)-1]; r.Tag != "reset" || r.Err == nil {
		t.Fatalf("got %+v", r)
	}
	s.deliver(0)
	s.quick = []int{0}
	s.admitted(s.check(10, rule))
}

// A floor is stronger than a reset: what a replica cannot prove to be free stays taken.
func TestResetUnderAFloor(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.replicas[0].amnesia(s.now, s.bounds)
	s.draw = hour
	reset := s.reset(rule)
	s.pass(s.bounds.EpsMax + 20*ms) // before the floor no reservation is accepted at all
	s.done(reset)
	s.denied(s.check(1, rule))
	s.pass(12 * second)
	s.admitted(s.check(10, rule))
}

// With one floored replica of three a reset is a reset.
func TestResetWithOneFloor(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.replicas[1].amnesia(s.now, s.bounds)
	for _, i := range []int{0, 2} {
		s.replicas[i].registers["login"] = taken(10 * second)
	}
	reset := s.reset(rule)
	s.deliver(0, 1, 2)
	s.done(reset)
	c := s.check(10, rule)
	s.deliver(0, 1, 2)
	s.admitted(c)
}

// A limit was made much faster, and the line lies reserved far ahead, as the slow rule had it. A reset by an owner that
// knows nothing of that must still fill the bucket.
func TestResetAfterTheLimitWasMadeFaster(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		tr := newTroupe(t, replicas)
		s := tr.enter('A')
		slow, fast := mustRule(t, "login", 10, 10, 24*time.Hour), mustRule(t, "login", 10, 10, time.Second)
		for i := range replicas {
			s.quick = append(s.quick, i)
		}
		s.admitted(s.check(10, slow))
		s.denied(s.check(1, fast))
		next := tr.enter('B')
		next.quick = s.quick
		reset := next.reset(fast)
		next.pass(10 * ms)
		next.done(reset)
		next.admitted(next.check(10, fast))
		next.denied(next.check(1, fast))
	}
}

// An answer of the generation before, late, teaches nothing about this one.
func TestLateAnswerOfTheOldGeneration(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	c := s.check(10, rule)
	old := s.post[0]
	s.deliver(0, 1)
	s.admitted(c)
	reset := s.reset(rule)
	s.deliver(0, 1)
	s.done(reset)
	s.hear(owner.Answer{Replica: 2, Limit: "login", Seq: old.Seq, Verdict: owner.Accepted, Position: old.To})
	s.hear(owner.Answer{Replica: 0, Limit: "login", Seq: old.Seq, Verdict: owner.Accepted, Position: old.To})
	c = s.check(10, rule)
	s.deliver(0, 1)
	if r := s.admitted(c); r.Start != start {
		t.Errorf("spent %+v", r.Span)
	}
}

// A reset concerns one limit of the key.
func TestResetLeavesTheOtherLimits(t *testing.T) {
	s := alone(t)
	burst, daily := mustRule(t, "burst", 3, 1, time.Second), mustRule(t, "daily", 5, 5, 24*time.Hour)
	s.admitted(s.check(3, burst, daily))
	s.done(s.reset(burst))
	d := s.decision(s.check(0, burst, daily))
	if d.Limits[0].Remaining != 3 || d.Limits[1].Remaining != 2 {
		t.Errorf("got %+v", d.Limits)
	}
}

// Receipts tell generations apart.
func TestReturnAfterReset(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	var receipts []limit.Receipt
	for range 3 {
		receipts = append(receipts, s.admitted(s.check(10, rule)))
		s.done(s.reset(rule))
	}
	for _, r := range receipts {
		s.ignored(r)
	}
	last := s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
	s.returned(last)
	s.admitted(s.check(10, rule))
	s.denied(s.check(1, rule))
}

// Owners that reset a bucket at the same time would overtake each other for ever. Who is overtaken waits a random time,
// which doubles.
func TestResetsThatCollidePause(t *testing.T) {
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	rule := mustRule(t, "login", 10, 1, time.Second)
	a.draw = hour
	ra := a.reset(rule)
	for i, pause := range []int64{1, 2, 4, 8, 8} {
		tr.now++
		rb := b.reset(rule)
		b.deliver(0, 1, 2)
		b.done(rb)
		a.wantSends(i + 1)
		a.deliver(0)
		a.pass(pause*ms - 2)
		a.wantSends(i + 1)
		a.pass(1)
		a.wantSends(i + 2)
	}
	a.deliver(0, 1, 2)
	a.done(ra)
}
