package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A settlement that is repeated gets the answer of the first one, however many holds of its key were settled since, at its owner and at
// another one. What no hold was settled for is unknown all the same.
func TestRepeatAmongManySettlements(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"ledger": hourly(t, limit.Holds{Longest: time.Minute}),
		"line":   ruleFor(t, limit.Limit{Name: "line", Capacity: 1_000_000, Refill: limit.Refill{Tokens: 1_000_000, Per: time.Minute}, Holds: limit.Holds{Longest: time.Minute}}),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			s := tr.enter('A')
			first := s.holds(10, 60*second, rule)
			want := s.settles(first, limit.Settlement{Used: 7}, rule)[0]
			if want.State != limit.HoldSettled || want.Charged != 7 || want.Returned != 3 {
				t.Fatalf("%+v", want)
			}
			for range map[string]int{"ledger": 600, "line": 4200}[name] {
				s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 2}, rule)
				s.pass(ms)
			}
			if got := s.settles(first, limit.Settlement{Used: 7}, rule)[0]; got != want {
				t.Errorf("repeated: %+v, want %+v", got, want)
			}
			for name, settlement := range map[string]limit.Settlement{
				"what was used in part": {Used: 7, Open: true}, "an extension": {Used: 7, Open: true, For: time.Second},
			} {
				if got := s.settles(first, settlement, rule)[0]; got.State != limit.HoldUnknown {
					t.Errorf("%s of a hold that was settled long ago: %+v", name, got)
				}
			}
			madeUp := first
			madeUp.Limits = []limit.Held{first.Limits[0]}
			madeUp.Limits[0].ID ^= 1 << 63
			if got := s.settles(madeUp, limit.Settlement{Used: 7}, rule)[0]; got.State != limit.HoldUnknown {
				t.Errorf("a hold that was made up: %+v", got)
			}
			if name == "line" {
				return
			}
			b := tr.enter('B')
			if got := b.settles(first, limit.Settlement{Used: 7}, rule)[0]; got != want {
				t.Errorf("repeated at another owner: %+v, want %+v", got, want)
			}
			if got := b.settles(madeUp, limit.Settlement{Used: 7}, rule)[0]; got.State != limit.HoldUnknown {
				t.Errorf("a hold that was made up, at another owner: %+v", got)
			}
		})
	}
}

// What is told of a hold that is listed no more is true: one that expired, or was not charged all that was used, was not settled for that.
func TestForgottenHoldsWereNotSettled(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "budget", Algorithm: limit.FixedWindow, Capacity: 10_000, Window: time.Hour, Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
	})
	others := func(s *stage, n int) {
		for range n {
			s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
			s.pass(ms)
		}
	}
	t.Run("expired", func(t *testing.T) {
		s := newTroupe(t, 3).enter('A')
		settled, expired := s.holds(10, 60*second, rule), s.holds(10, 2*second, rule)
		s.settles(settled, limit.Settlement{Used: 5}, rule)
		s.pass(int64(limit.SettleLate) / 2)
		others(s, 300)
		s.pass(int64(limit.SettleLate)/2 + 5*second)
		others(s, 1)
		if got := s.settles(expired, limit.Settlement{Used: 5}, rule)[0]; got.State != limit.HoldUnknown {
			t.Errorf("a hold that expired long ago: %+v", got)
		}
	})
	t.Run("many have expired", func(t *testing.T) {
		s := newTroupe(t, 3).enter('A')
		var expired []limit.Hold
		for range 300 {
			expired = append(expired, s.holds(1, 2*second, rule))
			s.pass(ms)
		}
		s.pass(4 * second)
		others(s, 300)
		for _, h := range []limit.Hold{expired[0], expired[len(expired)-1]} {
			if got := s.settles(h, limit.Settlement{Used: 0}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 0 || got.Returned != 1 {
				t.Errorf("settled late, as one of many: %+v", got)
			}
		}
	})
	t.Run("not charged in full", func(t *testing.T) {
		s := newTroupe(t, 3).enter('A')
		short := s.holds(10, 60*second, rule)
		giver := s.holds(2000, 60*second, rule)
		s.admitted(s.check(6000, rule))
		want := s.settles(short, limit.Settlement{Used: 9000}, rule)[0]
		if want.State != limit.HoldSettled || want.Charged != 2000 {
			t.Fatalf("%+v", want)
		}
		if got := s.settles(short, limit.Settlement{Used: 9000}, rule)[0]; got != want {
			t.Errorf("repeated: %+v, want %+v", got, want)
		}
		s.settles(giver, limit.Settlement{Used: 0}, rule)
		others(s, 300)
		if got := s.settles(short, limit.Settlement{Used: 9000}, rule)[0]; got != want {
			t.Errorf("repeated among many: %+v, want %+v", got, want)
		}
	})
}

// begin begins to settle a hold: at replicas that answer at once, or later.
func (s *stage) begin(h limit.Hold, used int64, rule *limit.Rule) (tag int, all []owner.Settle) {
	all = []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: h.Granted, Used: used}}
	tag = s.tag()
	s.owner.Settle(tag, all, s.clock(), s.clock()+hour, &s.out)
	s.after()
	return tag, all
}

// A hold that is listed no more is told as settled once a majority has that: a ledger that only one replica has may be lost with it. Here
// it is settled in a write with many others, of which that replica alone hears.
func TestSettledByAMinority(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	a := tr.enter('A')
	var holds []limit.Hold
	for range 300 {
		holds = append(holds, a.holds(100, 3600*second, rule))
		a.pass(ms)
	}
	a.pass(2 * second)
	a.quick = nil
	a.check(1, rule) // while this is decided, the settlements wait
	for _, h := range holds {
		a.begin(h, 3, rule)
	}
	a.deliver(0, 1, 2)
	if a.post[len(a.post)-1].Claim {
		a.deliver(0, 1, 2)
	}
	a.deliver(0)
	tr.now += 50 * ms

	b := tr.enter('B')
	b.quick = []int{0, 1}
	tag, told := b.begin(holds[0], 3, rule)
	b.done(tag)
	if got := told[0].Settled; got.State != limit.HoldSettled || got.Charged != 3 {
		t.Fatalf("%+v", got)
	}
	tr.now += 50 * ms
	c := tr.enter('C')
	c.quick = []int{1, 2}
	if d := c.decision(c.check(0, rule)); d.Limits[0].Remaining < 1_000_000-300*3-1 {
		t.Errorf("%d remain: one that was told as settled for 3 holds 100", d.Limits[0].Remaining)
	}
}

// A hold that was settled for what was used is known as settled for good, whatever becomes of others: one that was settled long ago, or
// for more than the debt lets be charged, leaves what is known of those that were taken before it.
func TestSettledStaysKnown(t *testing.T) {
	holds := limit.Holds{Longest: time.Hour, MaxDebt: limit.NoDebt}
	for name, rule := range map[string]*limit.Rule{
		"ledger": hourly(t, holds),
		"line":   ruleFor(t, limit.Limit{Name: "line", Capacity: 100_000, Refill: limit.Refill{Tokens: 100_000, Per: time.Minute}, Holds: holds}),
	} {
		many := func(s *stage) {
			for range map[string]int{"ledger": 300, "line": 4200}[name] {
				s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
				s.pass(ms)
			}
		}
		repeated := func(t *testing.T, s *stage, h limit.Hold) {
			t.Helper()
			want := s.settles(h, limit.Settlement{Used: 7}, rule)[0]
			many(s)
			if got := s.settles(h, limit.Settlement{Used: 7}, rule)[0]; got.State != limit.HoldSettled || got.Charged != want.Charged || got.Returned != want.Returned {
				t.Errorf("repeated: %+v, want %+v", got, want)
			}
		}
		t.Run(name+", settled long ago", func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			first := s.holds(10, 60*second, rule)
			want := s.settles(first, limit.Settlement{Used: 7}, rule)[0]
			s.pass(int64(limit.SettleLate) + 2*second)
			many(s)
			if got := s.settles(first, limit.Settlement{Used: 7}, rule)[0]; got.State != limit.HoldSettled || got.Charged != want.Charged {
				t.Errorf("repeated: %+v, want %+v", got, want)
			}
		})
		t.Run(name+", one of long ago", func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			long := s.holds(10, 3600*second, rule)
			s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
			s.pass(int64(limit.SettleLate) + 2*second)
			repeated(t, s, long)
		})
		t.Run(name+", one that was charged less", func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			first, giver, greedy := s.holds(10, 3600*second, rule), s.holds(1000, 3600*second, rule), s.holds(1, 3600*second, rule)
			s.settles(greedy, limit.Settlement{Used: 10_000_000}, rule)
			s.settles(giver, limit.Settlement{Used: 0}, rule)
			repeated(t, s, first)
		})
		t.Run(name+", many that have expired", func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			first := s.holds(10, 3600*second, rule)
			for range 300 {
				s.holds(1, second, rule)
				s.pass(ms)
			}
			s.pass(2 * second)
			want := s.settles(first, limit.Settlement{Used: 7}, rule)[0]
			for _, used := range []int64{7, 900} {
				if got := s.settles(first, limit.Settlement{Used: used}, rule)[0]; got.Charged != want.Charged || got.State != want.State {
					t.Errorf("repeated at once for %d: %+v, want %+v", used, got, want)
				}
			}
		})
	}
}

// What was used beyond a hold of an owner that is gone is charged once, when it is repeated after many others or half a minute later too.
func TestForeignHoldIsChargedOnce(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "line", Capacity: 1_000_000, Refill: limit.Refill{Tokens: 10, Per: 6 * time.Millisecond}, Holds: limit.Holds{Longest: time.Hour}})
	for name, between := range map[string]func(s *stage){
		"many others": func(s *stage) {
			for range 4200 {
				s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
			}
		},
		"half a minute": func(s *stage) {
			s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
			s.pass(32 * second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			h := tr.enter('A').holds(10, 3600*second, rule)
			b := tr.enter('B')
			b.settles(b.holds(900_000, 3600*second, rule), limit.Settlement{Used: 900_000}, rule)
			want := b.settles(h, limit.Settlement{Used: 1010}, rule)[0]
			between(b)
			before := b.left(rule)
			got := b.settles(h, limit.Settlement{Used: 1010}, rule)[0]
			if after := b.left(rule); got.State != want.State || got.Charged != want.Charged || before != after {
				t.Errorf("repeated: %+v, want %+v; left %d before and %d after", got, want, before, after)
			}
		})
	}
}
