package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"pgregory.net/rapid"
)

const minute = 60 * second

// guarded is a limit of capacity and a token a minute, which three denials in a row close for a minute, and for four at most.
func guarded(tb reporter, capacity int64) *limit.Rule {
	tb.Helper()
	return ruleFor(tb, limit.Limit{
		Name: "login", Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: time.Minute},
		Penalty: limit.Penalty{After: 3, For: time.Minute, Max: 4 * time.Minute},
	})
}

// denials lets n checks be denied, and gives what the last of them was told.
func (s *stage) denials(n int, rule *limit.Rule) (last limit.Outcome) {
	s.tb.Helper()
	for range n {
		d := s.decides(1, rule)
		if d.Allowed {
			s.tb.Fatalf("admitted: %+v", d)
		}
		last = d.Limits[0]
	}
	return last
}

// near says whether a time is that one, less what passed while checks were made.
func near(got, want time.Duration) bool { return got <= want && got > want-time.Second }

func TestDenialsInARowClose(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := guarded(t, 2)
	s.decides(2, rule)
	if o := s.denials(2, rule); o.Closed {
		t.Fatalf("closed too early: %+v", o)
	}
	// Each penalty is twice the one before, less the time since that; the longest is four minutes.
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 4 * time.Minute} {
		o := s.denials(1, rule)
		if !o.Closed || !near(o.RetryAfter, want) || o.Remaining != 0 {
			t.Fatalf("want it closed for %v: %+v", want, o)
		}
		sends, ends := len(s.sent), s.now-10*ms+int64(o.RetryAfter)
		s.pass(int64(want) / 2)
		if o := s.denials(10, rule); !o.Closed || !near(o.RetryAfter, want/2) {
			t.Errorf("in the middle of %v: %+v", want, o)
		}
		if s.pass(ends - 100*ms - s.now); len(s.sent) != sends {
			t.Errorf("denials of a closed bucket sent %+v", s.sent[sends:])
		}
		if d := s.decides(0, rule); !d.Allowed || !d.Limits[0].Closed || d.Limits[0].Remaining != 0 || d.Limits[0].ResetAfter == 0 {
			t.Errorf("a look says %+v", d)
		}
		for s.pass(200 * ms); s.decides(1, rule).Allowed; { // what has come back meanwhile
		}
		s.denials(1, rule) // the second in a row
	}
	// The time that passes without one brings the next nearer to the first.
	s.pass(4*minute + 7*minute)
	for s.decides(1, rule).Allowed {
	}
	s.denials(1, rule)
	if o := s.denials(1, rule); !near(o.RetryAfter, time.Minute) {
		t.Errorf("after seven quiet minutes: %+v", o)
	}
}

// A row of denials ends with an admission, and when no denial comes for the time of the first penalty.
func TestRowsOfDenialsEnd(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	patient := guarded(t, 1).Limit
	patient.Penalty.For, patient.Penalty.Max = time.Hour, time.Hour
	rule := ruleFor(t, patient)
	s.decides(1, rule)
	for range 5 {
		s.denials(2, rule)
		if idle, again := s.owner.Idle(s.clock()); idle || again < s.clock()+50*second {
			t.Errorf("it forgets the row: idle %v, until %v", idle, time.Duration(again-s.clock()))
		}
		s.pass(minute)
		if d := s.decides(1, rule); !d.Allowed {
			t.Fatalf("denied after a minute: %+v", d)
		}
	}
	exact := guarded(t, 100).Limit
	exact.Reserve = limit.ReserveExact
	other := ruleFor(t, exact)
	s.decides(98, other)
	for range 5 {
		for range 2 {
			if s.decides(100, other).Allowed {
				t.Fatal("100 of 2")
			}
		}
		s.pass(minute + second)
	}
	if d := s.decides(1, other); !d.Allowed {
		t.Errorf("%+v", d)
	}
	for range 10 {
		if d := s.decides(101, other); !d.Limits[0].Never || d.Limits[0].Closed {
			t.Errorf("a cost that never passes: %+v", d)
		}
	}
	s.pass(hour)
	if idle, _ := s.owner.Idle(s.clock()); !idle {
		t.Error("it is never idle again")
	}
}

// A penalty is durable: the next owner learns of it in the round of its first reservation.
func TestPenaltyOutlivesItsOwner(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := guarded(t, 1)
	a, b := tr.enter('A'), tr.enter('B')
	a.decides(1, rule)
	a.denials(3, rule)
	a.pass(90 * second) // open again, and a second row closes it for longer
	a.decides(1, rule)
	closed := a.denials(3, rule)
	if !closed.Closed || closed.RetryAfter < 80*time.Second {
		t.Fatalf("%+v", closed)
	}
	b.pass(minute + second) // a token has come back: it is the penalty that denies
	tag := b.check(1, rule)
	if len(b.sent) != 2 {
		t.Fatalf("its first check sends %+v", b.sent)
	}
	for _, m := range b.post[:2] {
		b.bring(m, 0)
		b.bring(m, 1)
	}
	b.pass(10 * ms)
	if o := b.denied(tag); !o.Closed || o.RetryAfter < closed.RetryAfter-62*time.Second {
		t.Errorf("the next owner says %+v", o)
	}
	b.pass(closed.RetryAfter.Nanoseconds() + second)
	if d := b.decides(1, rule); !d.Allowed {
		t.Errorf("after the penalty: %+v", d)
	}
	if o := b.denials(3, rule); !o.Closed || o.RetryAfter < 100*time.Second {
		t.Errorf("the third penalty, by another owner: %+v", o)
	}
}

// What cannot be stored at once closes the bucket here, and is stored when it can be; one that another owner has closed meanwhile is
// not closed for longer.
func TestPenaltyIsStoredLater(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := guarded(t, 1)
	a, b := tr.enter('A'), tr.enter('B')
	a.decides(1, rule)
	a.quick = []int{0}
	var last limit.Outcome
	for range 3 {
		last = a.denied(a.check(1, rule))
	}
	if !last.Closed || !near(last.RetryAfter, time.Minute) {
		t.Fatalf("%+v", last)
	}
	a.pass(second)
	a.quick = []int{0, 1, 2}
	a.pass(second)
	b.decides(1, rule)
	if d := b.decides(1, rule); d.Allowed || !d.Limits[0].Closed {
		t.Errorf("the next owner was not told: %+v", d)
	}
	b.pass(minute)
	b.decides(1, rule)
	o := a.denials(3, rule)
	if b.denials(3, rule); !o.Closed {
		t.Errorf("the first owner does not close it: %+v", o)
	}
	if other := b.denials(1, rule); !other.Closed || other.RetryAfter > o.RetryAfter+500*time.Millisecond {
		t.Errorf("two owners closed it one after the other: %+v after %+v", other, o)
	}
}

// A majority that has lost its disks has lost the penalties: that closes no bucket for longer than line comes back.
func TestPenaltiesAreLostWithTheirMajority(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := guarded(t, 1)
	a := tr.enter('A')
	a.decides(1, rule)
	a.denials(3, rule)
	for _, r := range tr.replicas[:2] {
		r.amnesia(tr.now, tr.bounds)
	}
	b := tr.enter('B')
	b.pass(minute + 2*second)
	d := b.decides(1, rule)
	for i := 0; i < 100 && !d.Allowed; i++ {
		if d.Limits[0].Closed {
			t.Fatalf("%+v", d)
		}
		b.pass(10 * second)
		d = b.decides(1, rule)
	}
	if !d.Allowed {
		t.Errorf("%v after the loss: %+v", time.Duration(b.now-start), d)
	}
	o := b.denials(3, rule)
	c := tr.enter('C')
	c.decides(1, rule) // denied at once, and told meanwhile
	if d := c.decides(1, rule); !o.Closed || !d.Limits[0].Closed {
		t.Errorf("nothing is stored after the loss: %+v, %+v", o, d)
	}
}

// A reset opens the bucket too.
func TestResetLiftsAPenalty(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := guarded(t, 1)
	s.decides(1, rule)
	s.denials(3, rule)
	tag := s.reset(rule)
	s.pass(100 * ms)
	s.done(tag)
	if d := s.decides(1, rule); !d.Allowed {
		t.Errorf("after the reset: %+v", d)
	}
	s.denials(2, rule)
	if o := s.denials(1, rule); !near(o.RetryAfter, time.Minute) {
		t.Errorf("the first penalty after the reset: %+v", o)
	}
}

// Of several limits, those that deny are told of; another one that is closed keeps the check from all of them.
func TestPenaltiesOfSeveralLimits(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	login := guarded(t, 1)
	plain := ruleFor(t, limit.Limit{Name: "api", Algorithm: limit.SlidingWindow, Capacity: 100, Window: time.Minute})
	streams := ruleFor(t, limit.Limit{
		Name: "streams", Algorithm: limit.Concurrency, Capacity: 2, Lease: time.Hour,
		Penalty: limit.Penalty{After: 1, For: time.Minute, Max: time.Minute},
	})
	all := []*limit.Rule{login, plain, streams}
	first := s.decides(1, all...)
	if !first.Allowed || len(first.Limits) != 3 || len(first.Receipts) != 3 {
		t.Fatalf("%+v", first)
	}
	for range 3 {
		if d := s.decides(1, all...); d.Allowed || len(d.Limits) != 3 || !d.Limits[1].Allowed || d.Limits[2].Closed {
			t.Fatalf("%+v", d)
		}
	}
	d := s.decides(1, all...)
	if !d.Limits[0].Closed || d.Limits[1].Closed || d.Limits[1].Remaining != 99 || d.Limits[2].Closed {
		t.Errorf("%+v", d.Limits)
	}
	s.decides(1, streams)
	if o := s.denials(1, streams); !o.Closed {
		t.Errorf("one denial was to close it: %+v", o)
	}
	tag := s.tag()
	s.owner.Check(owner.Check{
		Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{streams}, Cost: 1, Receipts: true, Extend: first.Receipts[2].Serial,
	}, &s.out)
	s.after()
	s.pass(10 * ms)
	if d := s.decision(tag); !d.Allowed {
		t.Errorf("who is inside stays, whatever is closed: %+v", d)
	}
}

// The owner against a slow, obvious model: a bucket, and what closes it.
func TestPenaltiesAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := limit.Penalty{
			After: rapid.Int64Range(1, 5).Draw(t, "after"),
			For:   time.Duration(rapid.Int64Range(1, 20).Draw(t, "for")) * time.Second,
		}
		p.Max = p.For * time.Duration(rapid.Int64Range(1, 10).Draw(t, "max"))
		rule := ruleFor(t, limit.Limit{
			Name: "login", Capacity: rapid.Int64Range(1, 3).Draw(t, "capacity"),
			Refill: limit.Refill{Tokens: 1, Per: time.Duration(rapid.Int64Range(1, 30).Draw(t, "per")) * time.Second}, Penalty: p,
		})
		s := alone(t)
		var tat limit.Pos
		var denied, last, end, length int64
		for range rapid.IntRange(1, 150).Draw(t, "checks") {
			s.pass(rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, 100_000)).Draw(t, "after ms") * ms)
			d := s.decision(s.check(1, rule))
			after, fits := rule.Decide(tat, s.now, 1)
			switch {
			case s.now < end:
				if d.Allowed || !d.Limits[0].Closed {
					t.Fatalf("it is closed for %v: %+v", time.Duration(end-s.now), d)
				}
				continue
			case fits:
				tat, denied = after, 0
			default:
				if s.now-last > int64(p.For) {
					denied = 0
				}
				denied, last = denied+1, s.now
			}
			if denied == p.After {
				if s.now-end > 2*length || length == 0 {
					length = int64(p.For)
				} else {
					length = min(max(2*length-(s.now-end), int64(p.For)), int64(p.Max))
				}
				length, denied = length/ms*ms, 0
				end = s.now + length
			}
			if d.Allowed != fits || d.Limits[0].Closed != (s.now < end) {
				t.Fatalf("allowed %v, want %v; closed %v, until %v: %+v", d.Allowed, fits, d.Limits[0].Closed, time.Duration(end-s.now), d)
			}
			if s.now < end && d.Limits[0].RetryAfter < time.Duration(end-s.now) {
				t.Fatalf("try again after %v, closed for %v", d.Limits[0].RetryAfter, time.Duration(end-s.now))
			}
		}
	})
}
