package actor

import (
	"errors"
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
				time.Sleep(3 * time.Second) //nolint:forbidigo // of the bubble
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
