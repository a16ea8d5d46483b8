package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A report whose answer is late may be charged twice, and not again and again.
func TestReportsThatAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 1000, refill: 1/h, consistency: eventual}}"))
		b.check(0, of("k", 1, "l"))
		for range 10 {
			b.check(0, of("k", 1, "l"))
		}
		b.late.Store(int64(600 * time.Millisecond)) // 1.2s there and back; a report may take one
		pass(2 * time.Minute)
		in, err := b.system.Inspect(t.Context(), "k", limit.Named("l"), "")
		if err != nil {
			t.Fatal(err)
		}
		if in.Tokens < 1000-1-2*10 {
			t.Errorf("11 tokens were admitted, and %d of 1000 are left", in.Tokens)
		}
	})
}
