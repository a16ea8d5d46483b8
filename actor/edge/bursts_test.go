package edge_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// In the long run an eventual limit is the limit, also where bursts come again and again: beyond it is admitted at most a capacity at each edge.
func TestEventualUnderBurstsThatComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const edges, capacity, bursts, every = 8, 100, 20, 100
		b := newBed(t, edges)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 1/s, consistency: eventual}}"))
		admitted := int64(0)
		for range bursts {
			admitted += b.burst("l", 2*time.Second, 5*time.Millisecond)
			pass((every - 2) * time.Second)
		}
		if exact := int64(capacity + bursts*every); admitted > exact+edges*capacity {
			t.Errorf("in %v %d are admitted, of a limit of %d, and %d more may be", bursts*every*time.Second, admitted, exact, edges*capacity)
		}
	})
}
