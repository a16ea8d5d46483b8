package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// asks asks for a lease of so many tokens, at least least, that lasts so long.
func (s *stage) asks(cost, least, life int64, rule *limit.Rule) int {
	return s.asksAfter(cost, least, life, 0, rule)
}

// asksAfter is asks for one who knows no positions, and spends the lease within after.
func (s *stage) asksAfter(cost, least, life, after int64, rule *limit.Rule) int {
	tag := s.tag()
	s.owner.Check(owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: cost, Least: least, Lease: life, LeaseAfter: after}, &s.out)
	s.after()
	return tag
}

// leases asserts that the lease was given, of that line and for so long, in seconds from the start.
func (s *stage) leases(tag int, from, to, until int64) *limit.Lease {
	s.tb.Helper()
	r, ok := s.reply(tag)
	if !ok || r.Lease == nil {
		s.tb.Fatalf("no lease: %+v", r)
	}
	l := r.Lease
	if want := (limit.Span{Start: start + from*second, End: start + to*second}); l.Span != want || l.Until != start+until*second {
		s.tb.Fatalf("leased (%v, %v] until %v, want (%ds, %ds] until %ds", time.Duration(l.Start-start), time.Duration(l.End-start),
			time.Duration(l.Until-start), from, to, until)
	}
	return l
}

func (s *stage) noLease(tag int) {
	s.tb.Helper()
	if r, ok := s.reply(tag); !ok || r.Lease != nil || r.Err != nil || r.Decision.Allowed {
		s.tb.Fatalf("answered %v: %+v", ok, r)
	}
}

// A lease lies as far ahead as it is to last, and is no more than half of what is left.
func TestLease(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.leases(s.asks(2, 1, 4*second, rule), 2, 4, 4)
	s.leases(s.asks(100, 1, 4*second, rule), 4, 7, 7)
	s.noLease(s.asks(100, 2, 4*second, rule))
	s.leases(s.asks(100, 1, 4*second, rule), 7, 8, 8)
	s.leases(s.asks(100, 1, 4*second, rule), 8, 9, 9)
	s.noLease(s.asks(1, 1, 4*second, rule)) // half of one is no token
	if d := s.decision(s.plain(1, rule)); !d.Allowed {
		t.Errorf("what is left is denied: %+v", d)
	}
}

// No lease lasts longer than ten seconds, nor longer than half of the bucket, nor than its window.
func TestLeaseLastsSoLong(t *testing.T) {
	s := alone(t)
	s.leases(s.asks(50, 1, 60*second, mustRule(t, "login", 100, 1, time.Second)), 0, 50, 10)
	s.leases(s.asks(1, 1, 60*second, mustRule(t, "short", 10, 1, time.Second)), 4, 5, 5)
	window := ruleFor(t, limit.Limit{Name: "window", Algorithm: limit.FixedWindow, Capacity: 10, Window: 10 * time.Second})
	s.pass(10*second - start%(10*second) + 6*second)
	s.leases(s.asks(3, 1, 60*second, window), 20, 23, 20)
}

// The line of who knows no positions begins when it may spend it no more. It is half of what is left behind that, and of windows only as long as that of now lasts.
func TestLeaseOfWhoKnowsNoPositions(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.leases(s.asksAfter(2, 1, 4*second, 5*second, rule), 5, 7, 5)
	s.leases(s.asksAfter(100, 1, 4*second, 5*second, rule), 7, 8, 5) // half of three, of which one fits
	s.noLease(s.asksAfter(1, 1, second, 9*second, rule))
	s.noLease(s.asksAfter(1, 1, second, 10*second, rule))
	s.pass(2 * second)
	s.leases(s.asksAfter(1, 1, second, 3*second, rule), 8, 9, 5)
	s.leases(s.asks(1, 1, second, rule), 9, 10, 10) // an edge's lies behind it

	window := ruleFor(t, limit.Limit{Name: "window", Algorithm: limit.FixedWindow, Capacity: 10, Window: 10 * time.Second})
	s.pass(10*second - (start+2*second)%(10*second) + 3*second) // into the next window
	begin := (s.clock() - start) / second
	s.leases(s.asksAfter(2, 1, second, 6*second, window), begin+7, begin+9, begin+6)
	tag := s.asksAfter(2, 1, second, 8*second, window)
	s.noLease(tag)
	if d := s.decision(tag); d.Limits[0].RetryAfter != 7*time.Second {
		t.Errorf("in a window that ends before, to try again after %v, want that of its end", d.Limits[0].RetryAfter)
	}
}

// Line for a lease is reserved as for a check.
func TestLeaseWaitsForAMajority(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	tag := s.asks(2, 1, 4*second, rule)
	s.waits(tag)
	s.deliver(0, 1)
	s.leases(tag, 2, 4, 4)
}

// What an edge gives back is credit once, in its place.
func TestTailOfALease(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	l := s.leases(s.asks(4, 1, 5*second, rule), 1, 5, 5)
	for i := range 2 {
		if back := s.owner.Return(l.Tail(start+3*second), s.clock(), &s.out); back != (i == 0) {
			t.Errorf("the tail comes back for the %dth time: %v", i+1, back)
		}
	}
	if c := s.view("login").Credit; c != limit.At(2*second) {
		t.Errorf("credit %v, want 2 s", c)
	}
	if !s.owner.Return(l.Tail(start+2*second), s.clock(), &s.out) || s.owner.Return(l.Tail(start+2*second), s.clock(), &s.out) {
		t.Error("more of it does not come back, or twice")
	}
	if c := s.view("login").Credit; c != limit.At(3*second) {
		t.Errorf("credit %v, want 3 s", c)
	}
	s.pass(4 * second)
	if c := s.view("login").Credit; c != limit.At(second) {
		t.Errorf("credit %v at 4 s, want the one second that lies ahead", c)
	}
}

// In a window that reserves nothing ahead, what was spent keeps the owner awake for as long as it may come back, and a lease until it is over.
func TestLongWindowsKeepTheirReceipts(t *testing.T) {
	for what, window := range map[string]time.Duration{"an hour": time.Hour, "five minutes": 5 * time.Minute} {
		s := alone(t)
		rule := ruleFor(t, limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 100, Window: window})
		s.pass(int64(window) - start%int64(window))
		receipt := s.admitted(s.check(5, rule))
		s.pass(200 * second)
		if idle, again := s.owner.Idle(s.clock()); idle || again < s.clock()+second {
			t.Errorf("%s: idle after 200 s is %v, until %v", what, idle, time.Duration(again-s.clock()))
		}
		if !s.owner.Return(receipt, s.clock(), &s.out) {
			t.Errorf("%s: the receipt has no effect", what)
		}
		s.pass(1000 * second)
		if idle, _ := s.owner.Idle(s.clock()); !idle {
			t.Errorf("%s: not idle after twenty minutes", what)
		}
	}
}

// An owner that has leased line stays awake until that is over: it may come back until then.
func TestLeasesKeepTheirOwnerAwake(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.leases(s.asks(4, 1, 5*second, rule), 1, 5, 5)
	s.owner.ForgetReturns()
	s.pass(4 * second)
	if idle, _ := s.owner.Idle(s.clock()); idle {
		t.Error("it is idle while a lease lasts")
	}
	s.pass(2 * second)
	if idle, _ := s.owner.Idle(s.clock()); !idle {
		t.Error("it is not idle when all is over")
	}
}
