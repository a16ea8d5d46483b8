package edge_test

import (
	"testing"
	"testing/synctest"

	"github.com/jeton-dev/jeton/actor/limit"
)

// spent makes n checks of one token, and has their receipts.
func (b *bed) spent(n int) (receipts []limit.Receipt) {
	b.tb.Helper()
	r := of("k", 1, "l")
	r.Receipt = true
	for range n {
		d := b.check(0, r)
		if !d.Allowed {
			b.tb.Fatalf("%+v", d)
		}
		receipts = append(receipts, d.Receipts...)
	}
	return receipts
}

// Tokens that came back to a local bucket can be spent together, whatever lies between them: nobody but this edge spends of it.
func TestLocalTokensThatCameBack(t *testing.T) {
	for _, consistency := range []string{"strong", "local"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, 1)
			defer b.close()
			b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 1/h, consistency: "+consistency+"}}"))
			receipts := b.spent(100)
			for i := 0; i < len(receipts); i += 2 {
				if back, err := b.edges[0].Return(t.Context(), "k", receipts[i:i+1]); err != nil || !back[0] {
					t.Fatal(back, err)
				}
			}
			if d := b.check(0, of("k", 2, "l")); !d.Allowed {
				t.Errorf("%s: 50 of 100 came back, and a check of 2 is denied: %+v", consistency, d.Limits[0])
			}
		})
	}
}
