package edge_test

import (
	"testing"
	"testing/synctest"
)

// The plans of a limit share its bucket, at edges as at owners.
func TestPlansShareABucket(t *testing.T) {
	for _, consistency := range []string{"strong", "leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, "limits: {l: {capacity: 10, refill: 1/h, consistency: "+consistency+", plans: {a: {capacity: 10}, b: {capacity: 10}, c: {capacity: 10}}}}"))
				admitted := 0
				for i := range 200 {
					r := of("k", 1, "l")
					r.Plan = []string{"", "a", "b", "c"}[i%4]
					if b.check(0, r).Allowed {
						admitted++
					}
				}
				if admitted > 10 {
					t.Errorf("a key of which plans change is admitted %d times, and each of its plans allows 10", admitted)
				}
			})
		})
	}
}
