package actor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

const guardedLimits = `
limits:
  login: {capacity: 1, refill: 1/1m, penalty_after: 3, penalty_for: 1h, penalty_max: 24h, plans: {gold: {capacity: 2}}}
  api: {capacity: 100, refill: 1/s}
`

// A penalty closes the bucket for later owners too; what an operator sees of it is the same whether the key's actor is awake or not;
// and a reset opens it.
func TestPenaltyThroughActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		replicas := []Replica{newRegisters(now)}
		cfg := Config{Replicas: replicas, Now: now, Limits: fixed(document(t, guardedLimits))}
		one, other := start(t, cfg), start(t, cfg)
		r := spend("a", 1, "api", "login")
		see := func(s *System) limit.Inspection {
			t.Helper()
			in, err := s.Inspect(t.Context(), "a", limit.Named("login"), "")
			if err != nil {
				t.Fatal(err)
			}
			return in
		}
		decide(t, one, r)
		for i := range int64(2) {
			if d := decide(t, one, r); d.Allowed || d.Limits[1].Closed || see(one).Denied != i+1 || see(one).Closed != 0 {
				t.Fatalf("denial %d: %+v, %+v", i+1, d, see(one))
			}
		}
		if d := decide(t, one, r); d.Allowed || len(d.Limits) != 2 || !d.Limits[0].Allowed || !d.Limits[1].Closed || d.Limits[1].RetryAfter != time.Hour {
			t.Fatalf("%+v", d)
		}
		awake, asleep := see(one), see(other)
		if !awake.Awake || asleep.Awake || awake.Closed != now()+int64(time.Hour) || asleep.Closed < awake.Closed {
			t.Errorf("closed until %d as its owner knows it, and %d by the registers", awake.Closed, asleep.Closed)
		}
		pass(2 * time.Minute)
		if d := decide(t, other, r); d.Allowed || !d.Limits[1].Closed || d.Limits[0].Remaining != 100 {
			t.Errorf("the next owner: %+v", d)
		}
		look := spend("a", 0, "login")
		look.Look = true
		if d := decide(t, other, look); !d.Allowed || !d.Limits[0].Closed || d.Limits[0].Remaining != 0 {
			t.Errorf("a look: %+v", d)
		}
		gold := spend("a", 1, "login")
		gold.Plan = "gold"
		if d := decide(t, other, gold); d.Allowed || !d.Limits[0].Closed {
			t.Errorf("by another plan: %+v", d)
		}
		repeated := spend("a", 1, "login")
		repeated.ID = "x"
		for range 2 {
			if d := decide(t, other, repeated); d.Allowed || !d.Limits[0].Closed || len(d.Limits) != 1 {
				t.Errorf("under a request id: %+v", d)
			}
		}
		if err := other.Reset(t.Context(), "a", limit.Named("login")); err != nil {
			t.Fatal(err)
		}
		if d := decide(t, other, r); !d.Allowed || see(other).Closed != 0 {
			t.Errorf("after the reset: %+v", d)
		}
		o, err := other.Overview(t.Context(), 10)
		if err != nil || len(o.Busiest) != 1 || len(o.Busiest[0].Limits) != 2 {
			t.Errorf("the overview shows %+v, %v", o, err)
		}
	})
}

// A row of denials is not forgotten while its key is quiet for less than the first penalty.
func TestQuietDenialsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		const limits = "limits:\n  login: {capacity: 1, refill: 1/24h, penalty_after: 3, penalty_for: 10m, penalty_max: 1h}\n"
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, limits))})
		decide(t, s, spend("a", 1, "login"))
		for i := range 3 {
			pass(9 * time.Minute)
			if d := decide(t, s, spend("a", 1, "login")); d.Allowed || d.Limits[0].Closed != (i == 2) {
				t.Errorf("denial %d: %+v", i+1, d)
			}
		}
	})
}
