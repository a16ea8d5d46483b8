package edge_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A leased bucket of a hot key is that of all plans.
func TestHotKeysWithPlansKeepTheirLeases(t *testing.T) {
	count := func(run int, text string) (got int, leases int64) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, 1)
			defer b.close()
			b.doc.Store(document(t, text))
			for i := range 8000 { // 100 a second
				plan := "basic"
				if i/run%2 == 1 {
					plan = "pro"
				}
				if b.check(0, planned(plan)).Allowed {
					got++
				}
				pass(10 * time.Millisecond)
			}
			leases = b.leases.Load()
		})
		return got, leases
	}
	const two = "limits: {l: {capacity: 1000, refill: 105/s, hot: lease, plans: {basic: {capacity: 1000, refill: 105/s}, pro: {capacity: 1010, refill: 105/s}}}}"
	for _, n := range []int{10, 50, 100, 500} {
		got, leases := count(n, two)
		same, fewer := count(n, strings.Replace(two, "1010", "1000", 1))
		t.Logf("%d by turns: %d of 8000 admitted, %d leases; of one rule %d, %d", n, got, leases, same, fewer)
		if got < same*99/100 || leases > 2*fewer+10 {
			t.Errorf("%d by turns: %d of 8000 are admitted and %d leases asked for; where both plans have the same numbers %d, %d", n, got, leases, same, fewer)
		}
	}
}
