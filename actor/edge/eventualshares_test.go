package edge_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A crowd is how an eventual limit is asked in one run.
type crowd struct {
	edges    int
	capacity int64
	refill   int64 // a second
	sync     time.Duration
	trip     time.Duration // to the node and back
	load     float64       // of the refill, at all edges together
	most     int64         // a check costs from 1 to most
	skewed   bool          // the first edge has half of the load
}

func drawCrowd(r *rand.Rand) crowd {
	of := func(ns ...int64) int64 { return ns[r.IntN(len(ns))] }
	c := crowd{
		edges: int(of(1, 2, 4, 8, 16)), capacity: of(10, 30, 100, 1000), refill: of(5, 30, 100, 300),
		sync: time.Duration(of(100, 500, 1000, 2000)) * time.Millisecond, trip: time.Duration(of(2, 40, 150)) * time.Millisecond,
		most: 1, skewed: r.IntN(2) == 0,
	}
	if c.capacity >= 100 && r.IntN(2) == 0 {
		c.most = 3
	}
	return c
}

func (c *crowd) String() string {
	return fmt.Sprintf("%d edges, %d at %d/s, sync %v, round trip %v, %.1f of the load, costs up to %d, skewed %v", c.edges, c.capacity, c.refill, c.sync, c.trip, c.load, c.most, c.skewed)
}

// came is what came of a run.
type came struct {
	mu                sync.Mutex
	rule              *limit.Rule
	tat               limit.Pos // of a strong bucket that is asked the same
	asked, got, exact int64     // tokens: asked for, admitted, and admitted by the strong bucket
	over, most        float64   // by how much more was admitted than came back meanwhile, now and at most: a capacity at most under a strong limit
	at                time.Time // as of when
}

func (c *came) decided(cost int64, allowed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.over = max(c.over-now.Sub(c.at).Seconds()*1e9/c.rule.PerToken(), 0)
	c.at, c.asked = now, c.asked+cost
	if allowed {
		c.got += cost
		c.over += float64(cost)
		c.most = max(c.most, c.over)
	}
	var ok bool
	if c.tat, ok = c.rule.Decide(c.tat, now.UnixNano(), cost); ok {
		c.exact += cost
	}
}

// run has the edges asked at random times for so long.
func (c *crowd) run(t *testing.T, seed uint64, lasts time.Duration) *came {
	t.Helper()
	b := newBed(t, c.edges)
	defer b.close()
	b.delay = c.trip / 2
	b.doc.Store(document(t, fmt.Sprintf("limits: {l: {capacity: %d, refill: %d/s, consistency: eventual, sync: %v}}", c.capacity, c.refill, c.sync)))
	rule, _ := b.doc.Load().Rule("l")
	all, end := &came{rule: rule, at: time.Now()}, time.Now().Add(lasts)
	var wait sync.WaitGroup
	for i := range c.edges {
		r := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // a test that can be repeated
		part := 1 / float64(c.edges)
		if c.skewed && c.edges > 1 {
			if part = 0.5; i > 0 {
				part = 0.5 / float64(c.edges-1)
			}
		}
		checks := c.load * float64(c.refill) * part / (float64(1+c.most) / 2)
		wait.Go(func() {
			for {
				pass(time.Duration(r.ExpFloat64() / checks * 1e9))
				if time.Now().After(end) {
					return
				}
				cost := 1 + r.Int64N(c.most)
				all.decided(cost, b.check(i, of("k", cost, "l")).Allowed)
			}
		})
	}
	wait.Wait()
	return all
}

// Whatever the number of edges, the limit and how far the owner is: what is admitted beyond the limit stays within its bound; of a limit that is asked for more than it has, nearly all is
// admitted; and of one that is asked for half of it, nearly nothing is denied that a strong limit would admit. Of a single crowd, which may ask for 150 tokens only, chance decides how nearly:
// the average of all of them is held to more.
func TestEventualWithinItsBounds(t *testing.T) {
	runs := 30
	if testing.Short() {
		runs = 8
	}
	var admitted, denied []float64 // of each crowd, the part of what a strong limit admits, and the part of what was asked for
	for range runs {
		seed := rand.Uint64()
		c := drawCrowd(rand.New(rand.NewPCG(seed, 0))) //nolint:gosec // likewise
		for _, c.load = range []float64{0.5, 3} {
			t.Run(c.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const lasts = time.Minute
					all := c.run(t, seed, lasts)
					told := fmt.Sprintf("seed %d: %v: of %d tokens that were asked for, %d were admitted, %d by a strong limit", seed, &c, all.asked, all.got, all.exact)
					few := int64(5)
					if c.capacity < int64(2*c.edges) { // hardly more tokens than edges
						few = 10
					}
					within := c.sync + c.trip + time.Second
					arrives := c.load * float64(c.refill) * within.Seconds() * 1.2
					whole := float64(c.capacity) + float64(c.refill)*within.Seconds()
					if bound := float64(c.capacity) + min(arrives, float64(c.edges-1)*whole) + 1; all.most > bound {
						t.Errorf("%s, and %.0f more than came back meanwhile, of at most %.0f", told, all.most, bound)
					}
					if c.load > 1 {
						admitted = append(admitted, min(float64(all.got)/float64(all.exact), 1))
						if all.got < all.exact*85/100 {
							t.Errorf("%s: less than 85 %% of it", told)
						}
						return
					}
					denied = append(denied, max(float64(all.exact-all.got)/float64(all.asked), 0))
					if all.exact-all.got > all.asked*few/100 {
						t.Errorf("%s: more than %d %% is denied", told, few)
					}
				})
			})
		}
	}
	if got := average(admitted); len(admitted) > 0 && got < 0.99 { // as a rule 0.999
		t.Errorf("on average %.2f %% are admitted of what a strong limit admits, want 99 %%", 100*got)
	}
	if got := average(denied); got > 0.004 { // as a rule 0.0004
		t.Errorf("on average %.2f %% are denied of half of the limit, want at most 0.4 %%", 100*got)
	}
}

func average(of []float64) (sum float64) {
	for _, x := range of {
		sum += x / float64(len(of))
	}
	return sum
}
