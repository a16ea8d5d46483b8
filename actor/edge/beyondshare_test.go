package edge_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// A check of a larger cost is admitted where the bucket has as much, though it is more than the edge's share of it.
func TestEventualCostsBeyondAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const edges = 8
		b := newBed(t, edges)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 1000, refill: 100/s, consistency: eventual}}"))
		passed := 0
		for range 30 { // 60 of 100 tokens a second
			for range 50 {
				for e := range edges {
					b.check(e, of("k", 1, "l"))
				}
				pass(200 * time.Millisecond)
			}
			if b.check(0, of("k", 200, "l")).Allowed {
				passed++
			}
		}
		if passed < 28 {
			t.Errorf("%d of 30 checks of cost 200 pass, and the bucket has about 1,000 each time", passed)
		}
	})
}
