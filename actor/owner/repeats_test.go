package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
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
			for range map[string]int{"ledger": 600, "line": 5000}[name] {
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
		for range limit.MaxHolds - 100 {
			expired = append(expired, s.holds(1, 3*second, rule))
			s.pass(ms)
		}
		s.pass(4 * second)
		others(s, 300)
		for _, h := range []limit.Hold{expired[100], expired[len(expired)-1]} {
			if got := s.settles(h, limit.Settlement{Used: 0}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 0 || got.Returned != 1 {
				t.Errorf("settled late, as one of many: %+v", got)
			}
		}
		for range 150 { // they need room
			s.holds(1, 60*second, rule)
			s.pass(ms)
		}
		if got := s.settles(expired[0], limit.Settlement{Used: 0}, rule)[0]; got.State != limit.HoldUnknown {
			t.Errorf("the first one that has expired of many: %+v", got)
		}
	})
	t.Run("not charged in full", func(t *testing.T) {
		s := newTroupe(t, 3).enter('A')
		short := s.holds(10, 60*second, rule)
		giver := s.holds(1000, 60*second, rule)
		s.admitted(s.check(7000, rule))
		want := s.settles(short, limit.Settlement{Used: 9000}, rule)[0]
		if want.State != limit.HoldSettled || want.Charged != 2000 {
			t.Fatalf("%+v", want)
		}
		if got := s.settles(short, limit.Settlement{Used: 9000}, rule)[0]; got != want {
			t.Errorf("repeated: %+v, want %+v", got, want)
		}
		s.settles(giver, limit.Settlement{Used: 0}, rule)
		others(s, 300)
		if got := s.settles(short, limit.Settlement{Used: 9000}, rule)[0]; got.State != limit.HoldUnknown {
			t.Errorf("among many, a hold that was charged less than was used: %+v", got)
		}
	})
}
