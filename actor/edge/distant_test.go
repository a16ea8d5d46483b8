package edge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An edge that is further from the owner than its callers wait decides all the same once it has heard: that is what such limits are for.
func TestOwnersFurtherThanCallersWait(t *testing.T) {
	for _, consistency := range []string{"leased", "eventual"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.delay = 40 * time.Millisecond
				b.doc.Store(document(t, "limits: {l: {capacity: 1000, refill: 100/s, consistency: "+consistency+"}}"))
				decided := 0
				for range 1000 {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a gateway's decide_within
					if _, err := b.edges[0].Check(ctx, of("k", 1, "l")); err == nil {
						decided++
					}
					cancel()
					pass(20 * time.Millisecond)
				}
				if decided < 900 {
					t.Errorf("%d of 1,000 checks are decided, with 80ms to the owner and back, and 50ms for each check", decided)
				}
			})
		})
	}
}
