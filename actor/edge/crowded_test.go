package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Invented keys of other limits take no room of local ones, which nobody else can decide.
func TestInventedKeysLeaveLocalLimitsAlone(t *testing.T) {
	for _, consistency := range []string{"leased", "eventual"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.delay = 0
				b.doc.Store(document(t, "limits: {l: {capacity: 10, refill: 1/s, consistency: "+consistency+"}, own: {capacity: 10, refill: 1/s, consistency: local}}"))
				for k := range 80_000 {
					b.check(0, of(fmt.Sprint("invented-", k), 1, "l"))
				}
				denied := 0
				for k := range 1000 {
					if !b.check(0, of(fmt.Sprint("honest-", k), 1, "own")).Allowed {
						denied++
					}
				}
				if denied > 0 {
					t.Errorf("of 1,000 keys that have spent nothing %d are denied", denied)
				}
			})
		})
	}
}
