package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// planned is a check of one token by a plan; empty for none.
func planned(plan string) limit.Request {
	r := of("k", 1, "l")
	r.Plan = plan
	return r
}

const twoPlans = "limits: {l: {capacity: 10, refill: 1/s, plans: {pro: {capacity: 1000, refill: 100/s}}, consistency: %s}}"

// A key that gets a larger plan while it is in use has that from then on.
func TestAKeyGetsALargerPlan(t *testing.T) {
	for _, consistency := range []string{"strong", "leased", "eventual", "local"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, fmt.Sprintf(twoPlans, consistency)))
				b.spend(planned(""), time.Second, 3*time.Second)
				if got := b.spend(planned("pro"), 20*time.Millisecond, 20*time.Second); got < 990 {
					t.Errorf("%d of 1000 are admitted, of a plan of twice as many", got)
				}
			})
		})
	}
}

// A key that gets a smaller plan while it is in use has that from then on, all edges together.
func TestAKeyGetsASmallerPlan(t *testing.T) {
	for _, consistency := range []string{"strong", "eventual"} {
		t.Run(consistency, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 8)
				defer b.close()
				b.doc.Store(document(t, fmt.Sprintf(twoPlans, consistency)))
				for e := range b.edges {
					b.check(e, planned("pro"))
				}
				pass(2 * time.Second)
				got := 0
				for range 240 {
					for e := range b.edges {
						if b.check(e, planned("")).Allowed {
							got++
						}
					}
					pass(500 * time.Millisecond)
				}
				if got > 10+120+8*12 {
					t.Errorf("%d are admitted in 120 s, of 10 and one a second", got)
				}
			})
		})
	}
}

// Where requests of two plans share a bucket by turns, an edge charges what an owner would.
func TestPlansByTurns(t *testing.T) {
	count := func(consistency string) (got int) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, 1)
			defer b.close()
			b.doc.Store(document(t, fmt.Sprintf("limits: {l: {capacity: 100, refill: 1/s, plans: {pro: {capacity: 10000, refill: 100/s}}, consistency: %s}}", consistency)))
			for i := range 600 {
				plan := "pro"
				if i%20 == 0 {
					plan = ""
				}
				if b.check(0, planned(plan)).Allowed {
					got++
				}
				pass(100 * time.Millisecond)
			}
		})
		return got
	}
	strong, eventual := count("strong"), count("eventual")
	if eventual < strong*95/100 {
		t.Errorf("%d are admitted of 600, and %d by a strong limit", eventual, strong)
	}
}

// What is due is sent for a bucket that goes on under another plan meanwhile. It is for the race detector.
func TestReportsThatAreDueWhilePlansChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.delay = 400 * time.Millisecond
		b.doc.Store(document(t, fmt.Sprintf(twoPlans, "eventual")))
		for i := range 60 {
			plan := ""
			if i%2 == 1 {
				plan = "pro"
			}
			b.check(0, planned(plan))
			pass(time.Duration(900+i*17) * time.Millisecond)
		}
	})
}
