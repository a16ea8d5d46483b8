package actor

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

const withHolds = `
limits:
  line:   {capacity: 10, refill: 10/1m, hold: 1m}
  free:   {capacity: 10, refill: 10/1m, hold: 1m, on_expiry: free}
  window: {algorithm: fixed-window, limit: 10, window: 1h, hold: 1m}
  plain:  {capacity: 10, refill: 10/1m}
`

// held takes a hold of the key "a", of a minute.
func held(tb testing.TB, s *System, cost int64, names ...string) limit.Hold {
	tb.Helper()
	r := spend("a", cost, names...)
	r.Hold = time.Minute
	d := decide(tb, s, r)
	if d.Hold == nil {
		tb.Fatalf("a hold of %d was denied: %+v", cost, d)
	}
	return *d.Hold
}

func settleHold(tb testing.TB, s *System, h limit.Hold, used int64, open bool) {
	tb.Helper()
	if _, err := s.Settle(tb.Context(), limit.Settlement{Hold: h, Used: used, Open: open}); err != nil {
		tb.Fatal(err)
	}
}

// TestInspectHolds looks at holds of a line and of a window, at the node that took them and, by the registers, at another one: that
// knows those of a window only. Looking changes nothing.
func TestInspectHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		regs := newRegisters(now)
		cfg := Config{Replicas: []Replica{regs}, Now: now, Limits: fixed(document(t, withHolds))}
		s, other := start(t, cfg), start(t, cfg)
		see := func(s *System, name string) limit.Inspection {
			t.Helper()
			before, writes := regs.snapshot(), regs.writes
			in := inspect(t, s, limit.Named(name))
			if !maps.EqualFunc(before, regs.snapshot(), sameRegister) || regs.writes != writes {
				t.Errorf("looking changed the registers: %v to %v", before, regs.snapshot())
			}
			return in
		}
		wantNone := func(s *System, name string, known bool) {
			t.Helper()
			if in := see(s, name); (in.Holds != nil) != known || known && in.Holds.Total != 0 || in.Debt != 0 {
				t.Errorf("%s: %+v with %+v, want none; known: %v", name, in, in.Holds, known)
			}
		}
		wantNone(s, "line", false)
		wantNone(s, "window", true)
		wantNone(s, "plain", false)
		decide(t, s, spend("a", 1, "plain"))
		wantNone(s, "plain", false)
		h := held(t, s, 6, "line", "window")
		pass(time.Millisecond)
		young := held(t, s, 3, "line", "window")
		settleHold(t, s, young, 5, false) // one more than there is
		settleHold(t, s, h, 2, true)
		until := now() + int64(time.Minute)
		for name, knows := range map[string][]*System{"line": {s}, "window": {s, other}} {
			for i, from := range knows {
				in := see(from, name)
				if in.Awake != (i == 0) || in.Tokens != 0 || in.Debt != 1 || in.Holds == nil {
					t.Fatalf("%s, node %d: %+v", name, i, in)
				}
				seen := in.Holds
				if seen.Open != 1 || seen.Tokens != 6 || seen.Total != 2 || seen.Expires > until+int64(time.Second) || len(seen.List) != 2 {
					t.Errorf("%s, node %d: %+v", name, i, seen)
				}
				if one := seen.List[0]; one.State != limit.HoldSettled || one.Amount != 3 || one.Used != 5 {
					t.Errorf("%s, node %d, the settled one: %+v", name, i, one)
				}
				if one := seen.List[1]; one.State != limit.HoldOpen || one.Amount != 6 || one.Used != 2 || one.Until != seen.Expires {
					t.Errorf("%s, node %d, the open one: %+v", name, i, one)
				}
			}
		}
		if in := see(other, "line"); in.Awake || in.Holds != nil || in.Debt != 0 {
			t.Errorf("holds of another node's memory: %+v with %+v", in, in.Holds)
		}
		settleHold(t, other, h, 3, false) // after which they are known to be lost
		if in := see(other, "line"); in.Holds == nil || in.Holds.Total != 1 || in.Holds.List[0].State != limit.HoldLost {
			t.Errorf("a hold that is lost: %+v with %+v", in, in.Holds)
		}
		pass(2 * time.Minute)
		if in := see(s, "line"); in.Holds == nil || in.Holds.Open != 0 || in.Holds.Total != 1 || in.Holds.List[0].State != limit.HoldExpired || in.Debt != 0 {
			t.Errorf("expired: %+v with %+v", in, in.Holds)
		}
	})
}

// TestMetricsOfHolds counts holds by what becomes of them; a settlement for good counts once.
func TestMetricsOfHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, reg := clock.New().Now, prometheus.NewRegistry()
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, withHolds)), Metrics: reg})
		other := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, withHolds))})
		want := func(name string, n float64, labels ...string) {
			t.Helper()
			if got := count(t, reg, name, labels...); got != n {
				t.Errorf("%s %q: %v, want %v", name, labels, got, n)
			}
		}
		decide(t, s, spend("a", 1, "plain"))
		want("jeton_holds_total", 0)
		for _, name := range []string{"line", "free", "window"} {
			h := held(t, s, 4, name)
			for range 2 {
				settleHold(t, s, h, 1, true)
			}
			for range 3 {
				settleHold(t, s, h, 6, false)
			}
			h.Limits[0].ID = 7
			if _, err := s.Settle(t.Context(), limit.Settlement{Hold: h}); err == nil {
				t.Error("a hold that was never taken was settled")
			}
			late := held(t, s, 2, name)
			held(t, s, 1, name) // and never settled
			pass(90 * time.Second)
			decide(t, s, spend("a", 0, name)) // frees what has expired
			for range 2 {
				settleHold(t, s, late, 1, false)
			}
			want("jeton_holds_total", 3, name)
			want("jeton_hold_tokens_total", 7, name)
			for outcome, n := range map[string]float64{"settled": 1, "open": 2, "repeated": 3, "unknown": 1, "late": 1, "lost": 0} {
				want("jeton_settlements_total", n, name, outcome)
			}
			for tokens, n := range map[string]float64{"held": 6, "charged": 7, "beyond": 2} {
				want("jeton_settled_tokens_total", n, name, tokens)
			}
		}
		want("jeton_holds_expired_total", 1, "line")
		want("jeton_holds_expired_total", 2, "free")
		want("jeton_holds_expired_total", 1, "window")
		lost := held(t, other, 4, "line")
		for range 2 {
			settleHold(t, s, lost, 1, false)
		}
		want("jeton_settlements_total", 1, "line", "lost")
		want("jeton_settled_tokens_total", 6, "line", "held")
		want("jeton_holds_total", 0, "plain")
	})
}
