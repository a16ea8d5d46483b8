package edge_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// Of an eventual bucket that plans share, edges may take as much line as they are asked for, whatever a token of their plan is worth.
func TestPlansShareByLine(t *testing.T) {
	for what, c := range map[string]struct{ free, pro int }{ // checks a second of edge 0 without a plan, and of edge 1 by one whose token is a hundredth
		"three times the limit": {28, 200}, "just short of the limit": {6, 300}, "half of it": {4, 100},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 2)
				defer b.close()
				b.set("limits: {l: {capacity: 20, refill: 10/s, plans: {pro: {capacity: 2000, refill: 1000/s}}, consistency: eventual}}")
				const tick, settles, lasts = 2 * time.Millisecond, 30 * time.Second, 90 * time.Second
				var asked, used float64 // of the line
				for i := range int(lasts / tick) {
					for e, perSecond := range []int{c.free, c.pro} {
						line, r := 0.1, planned("")
						if e == 1 {
							line, r = 0.001, planned("pro")
						}
						for range (i+1)*perSecond/500 - i*perSecond/500 {
							allowed := b.check(e, r).Allowed
							if time.Duration(i)*tick < settles {
								continue
							}
							if asked += line; allowed {
								used += line
							}
						}
					}
					pass(tick)
				}
				seconds := (lasts - settles).Seconds()
				if asked, used = asked/seconds, used/seconds; used < 0.97*min(asked, 1) {
					t.Errorf("%.3f of the line is asked for, and %.3f used", asked, used)
				}
			})
		})
	}
}
