package edge_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// While nodes refuse, a report is made again now and then, and not with every check.
func TestReportsThatFailPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := countedBed(t, "limits: {l: {capacity: 10000, refill: 10/s, consistency: eventual}}")
		defer b.close()
		b.spend(of("k", 1, "l"), time.Millisecond, 1500*time.Millisecond)
		c.down.Store(true)
		c.reports.Store(0)
		for range 20_000 {
			_, _ = b.edges[0].Check(t.Context(), of("k", 1, "l"))
			pass(time.Millisecond)
		}
		if n := c.reports.Load(); n > 60 {
			t.Errorf("of one key, with a report every second, %d are sent in 20 s to nodes that refuse them", n)
		}
	})
}
