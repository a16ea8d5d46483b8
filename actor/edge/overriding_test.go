package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// An override of the document counts under each consistency: a key that is denied is, one that may pass does, and one with other numbers has them.
func TestOverridesCountAtEdges(t *testing.T) {
	for _, consistency := range []string{"strong", "leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, "limits: {l: {capacity: 10, refill: 1/s, consistency: "+consistency+
					", overrides: [{key: bad, deny: true}, {key: vip, allow: true}, {key: big, capacity: 1000, refill: 100/s}]}}"))
				for key, want := range map[string]int{"bad": 0, "vip": 1000, "big": 1000} {
					if got := b.spend(of(key, 1, "l"), 5*time.Millisecond, 5*time.Second); got != want {
						t.Errorf("%s: %d of 1000 are admitted, want %d", key, got, want)
					}
				}
			})
		})
	}
}

// An override that is set live counts for an eventual limit, too, of which this edge hears by the owner's answers alone, and ends as soon as it does there.
func TestLiveOverridesCountForEventualLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 0)
		defer b.close()
		base := document(t, "limits: {l: {capacity: 10, refill: 1/s, consistency: eventual}}")
		b.doc.Store(base)
		e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: func() *limit.Document { return base }, Go: b.background})
		if err != nil {
			t.Fatal(err)
		}
		b.edges = append(b.edges, e)
		b.spend(of("k", 1, "l"), 10*time.Millisecond, time.Second)
		live, problems := base.WithOverrides([]limit.OverrideChange{{Limit: "l", Key: "k", Set: &limit.Override{Limit: "l", Key: "k", Says: "allow"}}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		b.doc.Store(live)
		b.spend(of("k", 1, "l"), 10*time.Millisecond, 5*time.Second)
		if got := b.spend(of("k", 1, "l"), 10*time.Millisecond, 5*time.Second); got != 500 {
			t.Errorf("%d of 500 are admitted of a key that may pass", got)
		}
		b.doc.Store(base)
		if got := b.spend(of("k", 1, "l"), 10*time.Millisecond, 10*time.Second); got > 25 || got < 5 {
			t.Errorf("%d of 1000 are admitted in 10s once the override is gone", got)
		}
	})
}
