package owner_test

import (
	"context"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// Once the bucket is known to be empty, denials and peeks ask no replica.
func TestDenialDoesNoIO(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 3, 1, time.Second)
	s.admitted(s.check(3, rule))
	sends := len(s.sent)
	for i := range int64(10) {
		o := s.denied(s.check(1, rule))
		want := limit.Outcome{
			Name: "login", Limit: 3, RetryAfter: time.Duration(second - i*50*ms), ResetAfter: time.Duration(3*second - i*50*ms),
		}
		if o != want {
			t.Errorf("got %+v, want %+v", o, want)
		}
		s.pass(50 * ms)
	}
	if d := s.decision(s.check(0, rule)); !d.Allowed || d.Limits[0].Remaining != 0 {
		t.Errorf("a peek says %+v", d)
	}
	s.wantSends(sends)
}

// The owner remembers what replicas said in a refusal: long after it, a check that cannot be admitted asks no replica, and one
// that can be begins where the line is free.
func TestDenialByWhatIsKnownDoesNoIO(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	for _, r := range s.replicas {
		r.registers["login"] = taken(10 * second)
	}
	c := s.check(1, rule)
	s.deliver(0, 1, 2)
	s.denied(c)
	s.pass(500 * ms)
	s.denied(s.check(1, rule))
	s.wantSends(1)
	s.pass(500 * ms)
	s.check(1, rule)
	s.wantSent(10*second, 11*second)
}

// A denial that rests on what replicas said, with nothing held, tells the same as one from memory.
func TestDenialOfAColdBucketExplainsItself(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.elsewhere(rule, start+8*second)
	o := s.denied(s.check(3, rule))
	want := limit.Outcome{Name: "login", Limit: 10, Remaining: 2, RetryAfter: time.Second, ResetAfter: 8 * time.Second}
	if o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

// A denied check never hears that as many tokens remain as it asked for, also when part of a segment is held.
func TestDenialSaysLessRemainsThanWasAsked(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(2, rule))
	s.elsewhere(rule, start+8*second)
	s.denied(s.check(3, rule)) // asks, and learns that the line is taken up to 8 s
	o := s.denied(s.check(3, rule))
	want := limit.Outcome{Name: "login", Limit: 10, Remaining: 2, RetryAfter: time.Second, ResetAfter: 8 * time.Second}
	if o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

func TestCostAboveCapacityIsNever(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	for _, cost := range []int64{11, 1 << 40, 1<<63 - 1} {
		o := s.denied(s.check(cost, rule))
		if want := (limit.Outcome{Name: "login", Limit: 10, Never: true, Remaining: 10}); o != want {
			t.Errorf("cost %d: got %+v, want %+v", cost, o, want)
		}
	}
	s.wantSends(0)
	s.admitted(s.check(10, rule))
}

// A peek tells what the replicas know and takes nothing.
func TestPeekTakesNothing(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	for range 3 {
		if d := s.decision(s.check(0, rule)); !d.Allowed || d.Limits[0].Remaining != 10 || len(d.Receipts) != 0 {
			t.Errorf("a peek at a full bucket says %+v", d)
		}
	}
	s.elsewhere(rule, start+4*second)
	s.pass(second)
	if d := s.decision(s.check(0, rule)); !d.Allowed || d.Limits[0].Remaining != 7 {
		t.Errorf("a peek at a bucket that another owner has used says %+v", d)
	}
	s.admitted(s.check(7, rule))
	s.denied(s.check(1, rule))
}

// Several limits admit together, or none is charged.
func TestAllLimitsOrNone(t *testing.T) {
	s := alone(t)
	burst, daily := mustRule(t, "burst", 3, 1, time.Second), mustRule(t, "daily", 5, 5, 24*time.Hour)
	for range 3 {
		d := s.decision(s.check(1, burst, daily))
		if !d.Allowed || len(d.Receipts) != 2 || d.Receipts[0].Limit != "burst" || d.Receipts[1].Limit != "daily" {
			t.Fatalf("got %+v", d)
		}
	}
	sends := len(s.sent)
	d := s.decision(s.check(1, burst, daily))
	if d.Allowed || d.Limits[0].Allowed || !d.Limits[1].Allowed || d.Limits[1].Remaining != 2 || d.Receipts != nil {
		t.Errorf("got %+v, want burst alone to deny", d)
	}
	s.wantSends(sends)
	s.pass(10 * second)
	s.admitted(s.check(2, burst, daily)) // all that daily had left: the denial charged nothing
	d = s.decision(s.check(1, burst, daily))
	if d.Allowed || !d.Limits[0].Allowed || d.Limits[1].Allowed {
		t.Errorf("got %+v, want daily alone to deny", d)
	}
	s.admitted(s.check(1, burst))
}

// What several limits need is asked for at once, and decided when the last answer is there; if one of them then denies,
// the other keeps what it has reserved.
func TestSeveralLimitsReserveTogether(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	burst, daily := mustRule(t, "burst", 3, 1, time.Second), mustRule(t, "daily", 5, 5, 24*time.Hour)
	c := s.check(1, burst, daily)
	s.wantSends(2)
	s.bring(s.post[1], 0)
	s.waits(c)
	s.bring(s.post[0], 0)
	s.admitted(c)

	s.elsewhere(daily, start+24*hour)
	c = s.check(1, burst, daily)
	s.wantSends(4)
	s.bring(s.post[2], 0)
	s.waits(c)
	s.bring(s.post[3], 0)
	d := s.decision(c)
	if d.Allowed || !d.Limits[0].Allowed || d.Limits[1].Allowed {
		t.Fatalf("got %+v, want daily alone to deny", d)
	}
	s.admitted(s.check(1, burst))
	s.wantSends(4) // from memory
}

// Checks that wait are decided in their order, each with the time at which it arrived.
func TestQueueKeepsItsOrder(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	var tags []int
	for range 4 {
		tags = append(tags, s.check(2, rule))
		s.pass(100 * ms)
	}
	s.waits(tags...)
	s.wantSends(1)
	s.quick = []int{0}
	s.deliver(0)
	for i, tag := range tags {
		if s.answers[i].Tag != tag {
			t.Fatalf("answered %+v, want the order %v", s.answers, tags)
		}
		if r := s.admitted(tag); r.Start != start+2*second*int64(i) {
			t.Errorf("check %d spent %+v", i, r.Span)
		}
	}
}

// A check that no wait can help is denied although others wait; one that could be admitted from memory waits its turn.
func TestHopelessCheckDoesNotWait(t *testing.T) {
	s := alone(t)
	rule, other := mustRule(t, "login", 10, 1, time.Second), mustRule(t, "other", 10, 1, time.Second)
	s.admitted(s.check(5, rule))
	s.quick = nil
	first := s.check(2, rule)
	second := s.check(0, rule)
	third := s.check(1, other)
	s.denied(s.check(6, rule))
	s.denied(s.check(6, other, rule))
	s.waits(first, second, third)
	s.wantSends(2) // the third reserves when its turn comes
	s.quick = []int{0}
	s.deliver(0)
	s.admitted(first)
	s.admitted(second)
	s.admitted(third)
}

// A check is not decided after its deadline, whether the owner is woken for it or the answer comes too late.
func TestDeadlines(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	impatient, patient, late := s.checkBy(10*ms, 1, rule), s.checkBy(hour, 1, rule), s.checkBy(30*ms, 1, rule)
	if due := s.owner.Due(); due != start+10*ms {
		t.Fatalf("the owner wants to be woken after %v, want 10ms", time.Duration(due-start))
	}
	s.pass(20 * ms)
	s.failed(impatient, context.DeadlineExceeded)
	s.waits(patient, late)
	if n := s.owner.Waiting(); n != 2 {
		t.Fatalf("%d wait, want 2", n)
	}
	s.now = start + 40*ms // not woken in time
	s.deliver(0)
	if r := s.admitted(patient); r.Start != start || r.End != start+second {
		t.Errorf("the patient check spent %+v, want the segment that was reserved for the impatient one", r.Span)
	}
	s.failed(late, context.DeadlineExceeded)
	s.pass(second)
	if due := s.owner.Due(); due != 1<<63-1 {
		t.Errorf("nothing waits, and the owner wants to be woken after %v", time.Duration(due-start))
	}
}

// A long queue expires exactly those whose time has come, in whichever order their deadlines are.
func TestManyDeadlines(t *testing.T) {
	for name, nth := range map[string]func(i int64) int64{
		"in no order":       func(i int64) int64 { return i * 7919 % 500 },
		"in order":          func(i int64) int64 { return i },
		"the last is first": func(i int64) int64 { return (i + 1) % 500 },
		"in pairs":          func(i int64) int64 { return i / 2 },
	} {
		t.Run(name, func(t *testing.T) { testManyDeadlines(t, nth) })
	}
}

func testManyDeadlines(t *testing.T, nth func(i int64) int64) {
	t.Helper()
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 1000, 1, time.Second)
	deadline := map[int]int64{}
	for i := range int64(500) {
		patience := (1 + nth(i)) * ms
		deadline[s.checkBy(patience, 1, rule)] = start + patience
	}
	for s.now < start+400*ms {
		s.pass(50 * ms)
		for tag, at := range deadline {
			if _, answered := s.reply(tag); answered != (at <= s.now) {
				t.Fatalf("at %v: a check with %v was answered: %v", time.Duration(s.now-start), time.Duration(at-start), answered)
			}
		}
	}
	s.quick = []int{0}
	s.deliver(0)
	if s.owner.Waiting() != 0 {
		t.Errorf("%d still wait", s.owner.Waiting())
	}
}

// Tags names every check that waits, for the code that gives up an owner.
func TestTags(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	want := []int{s.check(1, rule), s.check(1, rule), s.reset(rule)}
	var got []int
	s.owner.Tags(func(tag any) { got = append(got, tag.(int)) })
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A limit that was changed takes effect at the next check; what is spent stays spent, as time.
func TestChangedRule(t *testing.T) {
	s := alone(t)
	s.admitted(s.check(6, mustExact(t, "login", 10, 1, time.Second)))
	half := mustExact(t, "login", 10, 2, time.Second)
	if o := s.decision(s.check(0, half)).Limits[0]; o.Remaining != 0 || o.ResetAfter != 6*time.Second {
		t.Errorf("twice the refill: %+v, want 6 s of debt in a bucket of 5 s", o)
	}
	s.pass(3 * second)
	s.admitted(s.check(4, half))
	s.denied(s.check(1, half))
	more := mustExact(t, "login", 20, 2, time.Second)
	s.admitted(s.check(10, more))
	s.denied(s.check(1, more))
	thirds := mustExact(t, "login", 30, 3, 7*time.Nanosecond)
	s.denied(s.check(1, thirds))
	s.pass(10*second + 1)
	s.admitted(s.check(30, thirds))
	s.denied(s.check(1, thirds))
}

// An equal rule made anew, as every inline limit is, is no change.
func TestEqualRuleIsNoChange(t *testing.T) {
	s := alone(t)
	for range 5 {
		s.admitted(s.check(2, mustRule(t, "login", 10, 1, time.Second)))
	}
	s.denied(s.check(1, mustRule(t, "login", 10, 1, time.Second)))
}

// The view shows the last decisions, the newest last, and the demand.
func TestView(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 10, time.Second)
	for range 12 {
		s.check(1, rule)
		s.pass(10 * ms)
	}
	v := s.view("login")
	if len(v.Recent) != 8 {
		t.Fatalf("%d decisions are remembered, want 8", len(v.Recent))
	}
	for i, r := range v.Recent {
		want := limit.Recent{At: start + int64(i+4)*10*ms, Cost: 1, Allowed: i+4 < 10 || i+4 == 10}
		if r != want {
			t.Errorf("decision %d: %+v, want %+v", i, r, want)
		}
	}
	if v.Rule != rule || v.Generation != 0 || v.TAT != limit.At(start+1100*ms) || v.Hi < start+1100*ms {
		t.Errorf("got %+v", v)
	}
	if v.Demand < 50 || v.Demand > 100 {
		t.Errorf("demand of %v a second, want somewhat below 100", v.Demand)
	}
	if all := s.owner.Views(s.now); len(all) != 1 || all[0].TAT != v.TAT {
		t.Errorf("all views: %+v", all)
	}
	if _, ok := s.owner.View("other", s.now); ok {
		t.Error("there is a view of a bucket that does not exist")
	}
	s.pass(second)
	if d := s.view("login").Demand; d != 0 {
		t.Errorf("after a second of peace the demand is %v", d)
	}
}

// An owner at rest says so, and does not ask to be woken.
func TestIdle(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("a new owner is not idle")
	}
	s.owner.Check(owner.Check{At: s.now, Deadline: s.now + hour, Rules: []*limit.Rule{rule}, Cost: 2}, &s.out)
	s.after()
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("all that was reserved is spent, and no receipt was given: forgetting loses nothing")
	}
	s.admitted(s.check(1, rule))
	idle, again := s.owner.Idle(s.now)
	if idle || again != start+3*second {
		t.Errorf("a receipt can be returned until the spent line has passed: idle %v, again after %v", idle, time.Duration(again-start))
	}
	s.pass(3*second + 1)
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("everything has passed")
	}
	s.quick = nil
	s.checkBy(10*ms, 1, rule)
	if idle, again := s.owner.Idle(s.now); idle || again <= s.now {
		t.Errorf("a check waits: idle %v, again %v", idle, again)
	}
	s.pass(20 * ms)
	if idle, again := s.owner.Idle(s.now); idle || again <= s.now {
		t.Errorf("a reservation is on its way: idle %v, again %v", idle, again)
	}
	s.deliver(0)
	idle, again = s.owner.Idle(s.now)
	if idle || again != s.sent[len(s.sent)-1].To {
		t.Errorf("a segment is held that no check has spent: idle %v, again after %v", idle, time.Duration(again-s.now))
	}
}

// Receipts are remembered for ten minutes at most, however long the bucket takes to fill.
func TestIdleAfterTenMinutes(t *testing.T) {
	s := alone(t)
	s.admitted(s.check(1, mustRule(t, "daily", 1, 1, 24*time.Hour)))
	if idle, again := s.owner.Idle(s.now); idle || again != s.now+owner.DefaultReturnFor {
		t.Errorf("idle %v, again after %v", idle, time.Duration(again-s.now))
	}
	s.pass(owner.DefaultReturnFor + 1)
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("still not idle")
	}
}
