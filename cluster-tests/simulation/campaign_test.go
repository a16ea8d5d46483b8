package simulation

import (
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// A campaign runs seeds, one after the other on each processor, until so many hours are simulated or one fails.
type campaign struct {
	mu        sync.Mutex
	next      uint64
	left      time.Duration
	done      time.Duration
	seeds     int
	counts    Counts
	seedsWith Counts // in how many seeds something happened at all
	failed    *Report
	tell      func(format string, args ...any) // how far it has come
}

// mileposts is after how many simulated hours a campaign tells how far it has come.
const mileposts = 500 * time.Hour

func (c *campaign) seed() (seed uint64, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed = c.next
	c.next++
	return seed, c.left > 0 && c.failed == nil
}

func (c *campaign) note(r *Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= r.Simulated
	if (c.done+r.Simulated)/mileposts > c.done/mileposts {
		c.tell("%.0f hours, %d seeds", (c.done + r.Simulated).Hours(), c.seeds+1)
	}
	c.done += r.Simulated
	c.seeds++
	c.counts.Add(r.Counts)
	for what := range r.Counts {
		c.seedsWith[what]++
	}
	if r.Violation != nil && (c.failed == nil || r.Seed < c.failed.Seed) {
		c.failed = r
	}
}

func (c *campaign) run() {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // worlds are small, and short-lived
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed, more := c.seed(); more; seed, more = c.seed() {
				r := Run(Config{Seed: seed})
				c.note(&r)
			}
		})
	}
	workers.Wait()
}

// String is a table of what happened: how often, how often in 1,000 hours, and in how many of 1,000 seeds.
func (c *campaign) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12s %14s %15s\n", "times", "in 1,000 hours", "of 1,000 seeds")
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&b, "%12d %14.0f %15.0f  %s\n", c.counts[what], float64(c.counts[what])*1000/max(c.done.Hours(), 1),
			float64(c.seedsWith[what])*1000/float64(c.seeds), what)
	}
	return b.String()
}
