package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Who asks for half of an eventual limit is admitted, and who asks for more gets most of it, as under a strong limit: also where the bucket is no larger than what comes back
// between two reports.
func TestEventualOfSmallBuckets(t *testing.T) {
	for _, limit := range []string{"capacity: 10, refill: 10/s", "capacity: 10, refill: 100/s", "capacity: 100, refill: 100/s", "algorithm: fixed-window, limit: 100, window: 1s"} {
		for _, edges := range []int{1, 4} {
			for what, part := range map[string]float64{"half": 0.5, "all and more": 3} {
				var got [2]int64
				for i, consistency := range []string{"strong", "eventual"} {
					synctest.Test(t, func(t *testing.T) {
						b := newBed(t, edges)
						defer b.close()
						b.doc.Store(document(t, fmt.Sprintf("limits: {l: {%s, consistency: %s}}", limit, consistency)))
						rule, _ := b.doc.Load().Rule("l")
						got[i] = b.burst("l", 60*time.Second, time.Duration(rule.PerToken()/part/1.5*float64(edges)))
					})
				}
				if got[1] < got[0]*9/10 {
					t.Errorf("%s, %d edges, asked for %s: strong admits %d, eventual %d", limit, edges, what, got[0], got[1])
				}
			}
		}
	}
}
