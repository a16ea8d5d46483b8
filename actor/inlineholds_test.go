package actor

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A limit that a request defines takes holds, and the text of a hold has all that settles it, for a window in the memory of the owner as for a longer one.
func TestInlineHolds(t *testing.T) {
	for name, window := range map[string]time.Duration{"a window in memory": time.Minute, "a stored window": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := clock.New().Now
				s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now})
				l := limit.Limit{
					Name: "budget", Algorithm: limit.FixedWindow, Capacity: 10, Window: window,
					Holds: limit.Holds{Longest: time.Minute, OnExpiry: limit.Free, MaxDebt: limit.NoDebt},
				}
				ask := func(cost int64, hold time.Duration) limit.Decision {
					return decide(t, s, limit.Request{Key: "k", Cost: cost, Hold: hold, Limits: []limit.Ref{limit.Inline(l)}})
				}
				settle := func(h limit.Hold, used int64) limit.Settled {
					t.Helper()
					h, err := limit.ParseHold(h.String())
					if err != nil {
						t.Fatal(err)
					}
					got, err := s.Settle(t.Context(), limit.Settlement{Hold: h, Used: used})
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				first, second := ask(6, time.Minute), ask(3, 2*time.Second)
				if first.Hold == nil || second.Hold == nil || ask(2, 0).Allowed {
					t.Fatalf("%+v and %+v, or 2 of the one left", first, second)
				}
				for range 2 {
					if got := settle(*first.Hold, 2); got.Charged != 2 || got.Returned != 4 {
						t.Errorf("settled: %+v", got)
					}
				}
				if d := ask(5, 0); !d.Allowed || d.Limits[0].Remaining != 0 {
					t.Errorf("after the settlement: %+v", d)
				}
				pass(3 * time.Second)
				if d := ask(3, 0); !d.Allowed {
					t.Errorf("after the second hold has expired: %+v", d)
				}
				unknown := *first.Hold
				unknown.Limits = []limit.Held{first.Hold.Limits[0]}
				unknown.Limits[0].ID++
				if _, err := s.Settle(t.Context(), limit.Settlement{Hold: unknown}); !errors.Is(err, limit.ErrUnknownHold) {
					t.Errorf("a hold that was never taken: %v", err)
				}
			})
		})
	}
}

// Holds of invented limits end soon, and owe nothing: else a caller could keep a register for longer than --inline-fill allows, or shut a bucket for years.
func TestInlineHoldsAreShort(t *testing.T) {
	for field, holds := range map[string]limit.Holds{
		"hold":     {Longest: limit.LongestDefinedHold + time.Millisecond, MaxDebt: limit.NoDebt},
		"max_debt": {Longest: time.Minute, MaxDebt: 1},
	} {
		for _, l := range []limit.Limit{
			{Name: "line", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: holds},
			{Name: "counted", Algorithm: limit.FixedWindow, Capacity: 10, Window: time.Hour, Holds: holds},
		} {
			err := limit.Request{Key: "k", Cost: 1, Hold: time.Second, Limits: []limit.Ref{limit.Inline(l)}}.Validate()
			if wrong, ok := errors.AsType[*limit.FieldError](err); !ok || wrong.Field != "limits[0]."+field {
				t.Errorf("%s of %s: %v", field, l.Name, err)
			}
		}
	}
	for _, debt := range []int64{0, limit.NoDebt} {
		l := limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: limit.LongestDefinedHold, MaxDebt: debt}}
		if err := (limit.Request{Key: "k", Cost: 1, Hold: time.Second, Limits: []limit.Ref{limit.Inline(l)}}).Validate(); (err == nil) != (debt == limit.NoDebt) {
			t.Errorf("a debt of %d: %v", debt, err)
		}
	}
}

// What was held of a key is settled however many limits others invent for it meanwhile.
func TestInlineHoldsOfACrowdedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now})
		hold := func(name string, window, last time.Duration) (limit.Decision, error) {
			return s.Check(t.Context(), limit.Request{Key: "k", Cost: 1, Hold: last, Limits: []limit.Ref{limit.Inline(limit.Limit{
				Name: name, Algorithm: limit.FixedWindow, Capacity: 10, Window: window, Holds: limit.Holds{Longest: limit.LongestDefinedHold, OnExpiry: limit.Free, MaxDebt: limit.NoDebt},
			})}})
		}
		mine, err := hold("mine", time.Hour, limit.LongestDefinedHold)
		if err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Minute) // the key sleeps
		for i := range 2 * maxInline {
			if _, err = hold(fmt.Sprint("n", i), time.Second, limit.LongestDefinedHold); err != nil {
				break
			}
		}
		if !errors.Is(err, limit.ErrOverloaded) {
			t.Errorf("the key takes any number of limits: %v", err)
		}
		if got, err := s.Settle(t.Context(), limit.Settlement{Hold: *mine.Hold, Used: 0}); err != nil || got.Returned != 1 {
			t.Errorf("settled among them: %+v, %v", got, err)
		}
	})
}

// What a settlement says of a limit that a request has defined is checked as a check of it is.
func TestInlineHoldsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, InlineFill: time.Hour})
		for name, l := range map[string]limit.Limit{
			"a stored limit":                 {Name: "demo", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}},
			"one that takes too long":        {Name: "slow", Algorithm: limit.FixedWindow, Capacity: 1, Window: 2 * time.Hour, Holds: limit.Holds{Longest: time.Minute}},
			"one that cannot be":             {Name: "none", Algorithm: limit.FixedWindow, Window: time.Hour},
			"one with a penalty":             {Name: "shut", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Penalty: limit.Penalty{After: 1, For: time.Second, Max: time.Second}},
			"one that takes no longer holds": {Name: "plain", Algorithm: limit.FixedWindow, Capacity: 1, Window: time.Minute},
		} {
			h := limit.Hold{Key: "k", Granted: 1, Limits: []limit.Held{{Limit: l.Name, Inline: &l, ID: 1}}}
			_, err := s.Settle(t.Context(), limit.Settlement{Hold: h, Used: 1, Open: true, For: time.Minute})
			if _, ok := errors.AsType[*limit.FieldError](err); !ok {
				t.Errorf("%s: %v, want a field error", name, err)
			}
		}
	})
}
