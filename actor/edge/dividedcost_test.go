package edge_test

import (
	"testing"
	"testing/synctest"
)

// A check that costs more than an edge's part, and no more than the limit, is not said never to pass: it would at another number of edges, and does under the same limit elsewhere.
func TestDividedCostsAreNotNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 4)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 12, refill: 12/s, consistency: local, share: divided}}"))
		if o := b.check(0, of("k", 5, "l")).Limits[0]; o.Never || o.RetryAfter == 0 {
			t.Errorf("of 5 of 12, at one of four edges: %+v", o)
		}
	})
}
