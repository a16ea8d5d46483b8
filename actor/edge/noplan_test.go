package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A plan that no limit has is refused alike, whatever an edge holds.
func TestPlansThatAreNotThere(t *testing.T) {
	for _, consistency := range []string{"leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, "limits: {l: {capacity: 1000, refill: 100/s, consistency: "+consistency+"}}"))
				r := of("k", 1, "l")
				r.Plan = "gold"
				for range 20 {
					if _, err := b.edges[0].Check(t.Context(), r); !limit.IsNoPlan(err) {
						t.Fatalf("of a plan that is not there: %v", err)
					}
					b.spend(of("k", 1, "l"), 10*time.Millisecond, 200*time.Millisecond)
				}
			})
		})
	}
}
