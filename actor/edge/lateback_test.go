package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
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

// What is returned after time has brought it back is not spent once more.
func TestReturnsOfWhatCameBackByItself(t *testing.T) {
	for _, consistency := range []string{"strong", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, fmt.Sprintf("limits: {l: {capacity: 100, refill: 10/s, consistency: %s}}", consistency)))
				b.check(0, of("k", 1, "l"))
				pass(3 * time.Second)
				var receipts []limit.Receipt
				r := of("k", 1, "l")
				r.Receipt = true
				for range 90 {
					receipts = append(receipts, b.check(0, r).Receipts...)
				}
				for range 60 { // it is full again after 10 s
					b.check(0, of("k", 1, "l"))
					pass(time.Second)
				}
				got := 0
				for range 300 {
					if b.check(0, of("k", 1, "l")).Allowed {
						got++
					}
				}
				back, _ := b.edges[0].Return(t.Context(), "k", receipts)
				took := 0
				for _, ok := range back {
					if ok {
						took++
					}
				}
				for range 300 {
					if b.check(0, of("k", 1, "l")).Allowed {
						got++
					}
				}
				if got > 125 { // some comes back meanwhile
					t.Errorf("%d are admitted at once of 100: %d of %d came back a minute after the bucket was full again", got, took, len(receipts))
				}
			})
		})
	}
}
