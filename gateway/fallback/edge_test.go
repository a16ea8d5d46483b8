package fallback

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// gone is a cluster that decides nothing.
type gone struct{ limit.Limiter }

func (gone) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, limit.ErrUnavailable
}

// While no node can be reached, nothing changes for a limit that is local, whatever stands beside it in a check and whatever that one's policy is.
func TestLocalLimitsHoldInAnOutage(t *testing.T) {
	for name, beside := range map[string]string{"strong": "", "eventual": ", consistency: eventual", "leased": ", consistency: leased"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				doc := document(t, "limits: {own: {capacity: 10, refill: 1/h, consistency: local}, other: {capacity: 100, refill: 1/h"+beside+", on_unavailable: allow}}")
				limits := func() *limit.Document { return doc }
				e, err := edge.New(edge.Config{Cluster: gone{}, Limits: limits, Go: func(func(context.Context)) bool { return false }})
				if err != nil {
					t.Fatal(err)
				}
				g := guard(t, Config{Checker: e, Limits: limits})
				for what, policy := range map[string]limit.Policy{"that of the limits": "", "allow": limit.Allow, "local": limit.Local} {
					admitted := 0
					for range 100 {
						if g.Check(t.Context(), ask("k "+what, "own", "other"), policy).Allowed {
							admitted++
						}
						pass(10 * time.Millisecond)
					}
					if v := g.Check(t.Context(), ask("k "+what, "own"), policy); v.Source != ByEdge || v.Allowed {
						t.Errorf("policy %s: the local limit says %+v", what, v)
					}
					if admitted != 10 {
						t.Errorf("policy %s: %d of 100 are admitted, and the local limit is 10", what, admitted)
					}
				}
			})
		})
	}
}

// What a local limit took in an outage comes back where the policy of another one denies, and by the receipts of what passed.
func TestLocalLimitsComeBackInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := document(t, "limits: {own: {capacity: 10, refill: 1/h, consistency: local}, closed: {capacity: 1, refill: 1/h, on_unavailable: deny}, here: {capacity: 1, refill: 1/h, on_unavailable: local}}")
		limits := func() *limit.Document { return doc }
		e, err := edge.New(edge.Config{Cluster: gone{}, Limits: limits, Go: func(func(context.Context)) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		g := guard(t, Config{Checker: e, Limits: limits})
		left := func() int64 { return g.Check(t.Context(), ask("k", "own"), "").Limits[0].Remaining + 1 }
		for _, beside := range []struct {
			name string
			want int64
		}{{"closed", 10}, {"here", 9}} {
			for range 20 {
				g.Check(t.Context(), ask("k", "own", beside.name), "")
				synctest.Wait()
			}
			d, err := e.Check(t.Context(), limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named("own")}})
			if err != nil || d.Limits[0].Remaining != beside.want {
				t.Errorf("beside %s, %+v is left, want %d: %v", beside.name, d.Limits, beside.want, err)
			}
		}
		r := ask("k", "closed", "own")
		r.Receipt = true
		before := left()
		v := g.Check(t.Context(), r, limit.Allow)
		if !v.Allowed || len(v.Receipts) != 1 {
			t.Fatalf("%+v", v)
		}
		if now := left(); now != before-2 {
			t.Errorf("%d are left of %d, after two checks", now, before)
		}
		g.Return(t.Context(), "k", v.Receipts)
		synctest.Wait()
		if now := left(); now != before-2 {
			t.Errorf("%d are left of %d, after three checks of which one came back", now, before)
		}
		v = g.Check(t.Context(), ask("j", "here", "own"), "")
		if v.Source != ByLocal || len(v.Limits) != 2 || v.Limits[0].Name != "here" || v.Limits[1].Name != "own" || v.Limits[1].Remaining != 9 {
			t.Errorf("%+v", v)
		}
	})
}
