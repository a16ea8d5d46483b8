package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A change of a limit does not make forgotten what was spent under it, as it does not at owners.
func TestChangesKeepWhatWasSpent(t *testing.T) {
	for _, consistency := range []string{"strong", "leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				const changes, capacity = 20, 100
				admitted := 0
				for i := range changes {
					b.doc.Store(document(t, fmt.Sprintf("limits: {l: {capacity: %d, refill: 1/h, consistency: %s}}", capacity+i, consistency)))
					admitted += b.spend(of("k", 1, "l"), time.Millisecond, 200*time.Millisecond)
				}
				if admitted > 2*capacity {
					t.Errorf("%d are admitted of %d", admitted, capacity+changes-1)
				}
			})
		})
	}
}
