package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Who comes again when a denial said so is admitted, if nobody else spends: after two denials at most, since an edge learns of what is left by a report.
func TestEventualSaysWhenToRetry(t *testing.T) {
	for _, limit := range []string{"capacity: 10, refill: 10/s", "capacity: 10, refill: 10/1m", "algorithm: fixed-window, limit: 10, window: 1h", "capacity: 10, refill: 1/s, overrides: [{key: k, deny: true}]"} {
		t.Run(limit, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				onTheHour()
				pass(time.Minute)
				b.doc.Store(document(t, fmt.Sprintf("limits: {l: {%s, consistency: eventual}}", limit)))
				for range 12 {
					b.check(0, of("k", 1, "l"))
				}
				begin, denied := time.Now(), 0
				var said []time.Duration
				for time.Since(begin) < time.Minute {
					d := b.check(0, of("k", 1, "l"))
					if d.Allowed {
						break
					}
					denied++
					said = append(said, d.Limits[0].RetryAfter)
					pass(max(d.Limits[0].RetryAfter, time.Millisecond))
				}
				if denied > 2 {
					t.Errorf("%s: who waits as it is told is denied %d times within %v: told to wait %v…", limit, denied, time.Since(begin), said[:min(len(said), 4)])
				}
				if limit[0] == 'a' && said[0] < 50*time.Minute {
					t.Errorf("%s: in an empty window that lasts 58 minutes more, it is told to retry after %v", limit, said[0])
				}
			})
		})
	}
}
