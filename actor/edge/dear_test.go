package edge_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
)

// dearFlood floods edge 0 with checks that cost the whole bucket, and says how many checks of cost 1 are denied at edge 1, which has bursts.
func dearFlood(t *testing.T, repeats time.Duration) (denied int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 0)
		defer b.close()
		b.set("limits: {l: {capacity: 100, refill: 10/s, consistency: leased}}")
		for range 2 {
			e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: b.doc.Load, Go: b.background, RepeatDenials: repeats})
			if err != nil {
				t.Fatal(err)
			}
			b.edges = append(b.edges, e)
		}
		b.check(0, of("k", 10, "l"))
		var wait sync.WaitGroup
		wait.Go(func() {
			for range 6000 {
				b.check(0, of("k", 100, "l"))
				pass(10 * time.Millisecond)
			}
		})
		for e := range 2 {
			wait.Go(func() {
				for i := range 240 {
					burst := 1
					if e == 1 && i%40 == 39 {
						burst = 21
					}
					for range burst {
						if !b.check(e, of("k", 1, "l")).Allowed && e == 1 {
							denied++
						}
					}
					pass(250 * time.Millisecond)
				}
			})
		}
		wait.Wait()
	})
	return denied
}

// What is asked for in vain makes an edge hold no more: other edges would be denied what it does not spend.
func TestDearFloodHoardsNothing(t *testing.T) {
	asked, repeated := dearFlood(t, -1), dearFlood(t, 0)
	if repeated > 2*asked+10 {
		t.Errorf("of 360 checks of another edge %d are denied where denials are repeated, and %d where they are not", repeated, asked)
	}
}

// Dear checks that another limit denies take nothing of an eventual one.
func TestDeniedElsewhereTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.set("limits: {ev: {capacity: 100, refill: 10/s, consistency: eventual}, day: {capacity: 100, refill: 1/h}}")
		b.check(0, of("k", 100, "day"))
		denied := 0
		for i := range 3000 {
			if i%10 == 0 && b.check(0, of("k", 100, "ev", "day")).Allowed {
				t.Fatal("a day that is spent admits")
			}
			if i%20 == 5 && !b.check(0, of("k", 1, "ev")).Allowed {
				denied++
			}
			pass(10 * time.Millisecond)
		}
		if denied > 0 {
			t.Errorf("%d of 150 are denied of a limit that nobody else spends of", denied)
		}
	})
}
