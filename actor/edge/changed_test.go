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

// A document that is read again and says the same changes nothing of what an edge knows.
func TestTheSameLimitsAgain(t *testing.T) {
	for _, consistency := range []string{"leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				text := fmt.Sprintf("limits: {l: {capacity: 1000, refill: 100/s, consistency: %s}}", consistency)
				b.doc.Store(document(t, text))
				b.spend(of("k", 1, "l"), 20*time.Millisecond, 2*time.Second)
				b.doc.Store(document(t, text))
				asked := b.asked.Load()
				got := b.spend(of("k", 1, "l"), 20*time.Millisecond, 20*time.Second)
				if asked = b.asked.Load() - asked; got != 1000 || asked > 45 {
					t.Errorf("%d of 1000 are admitted, and %d checks and reports were asked of the node", got, asked)
				}
			})
		})
	}
}
