package edge_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// What was admitted by an eventual limit comes back after its report, too: to the edge, which admits as much more before it reports again.
func TestEventualReturnsAfterReports(t *testing.T) {
	for _, consistency := range []string{"strong", "eventual"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, 1)
			defer b.close()
			b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 1/h, consistency: "+consistency+"}}"))
			b.check(0, of("k", 1, "l"))
			receipts := b.spent(50)
			pass(3 * time.Second) // what an upstream may well take for its answer
			b.check(0, of("k", 1, "l"))
			back, err := b.edges[0].Return(t.Context(), "k", receipts)
			if err != nil {
				t.Fatal(err)
			}
			pass(3 * time.Second)
			b.check(0, of("k", 1, "l"))
			if left := b.spend(of("k", 1, "l"), time.Millisecond, 200*time.Millisecond); !back[0] || left < 90 || left > 97 {
				t.Errorf("%s: 50 tokens were given back: %v…, and %d of 100 are left", consistency, back[0], left)
			}
		})
	}
}
