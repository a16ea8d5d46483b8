package nemesis

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A Drawing is what is known when a fault is drawn.
type Drawing struct {
	*rand.Rand
	Setting

	// At is when the fault is to begin.
	At time.Duration
	// Candidates are the nodes, by their numbers from 0, of which this fault may take one: those of the other lanes are
	// not among them.
	Candidates []int

	copied map[int]time.Duration // when each node's disk was last copied
}

// one draws one of the candidates.
func (d *Drawing) one() int { return d.Candidates[d.IntN(len(d.Candidates))] }

// some draws n nodes of all, in the order of their numbers.
func (d *Drawing) some(n int) []int {
	drawn := d.Perm(d.Nodes)[:n]
	slices.Sort(drawn)
	return drawn
}

// between draws a length.
func (d *Drawing) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return (least + time.Duration(d.Int64N(int64(most-least)))).Round(10 * time.Millisecond)
}
