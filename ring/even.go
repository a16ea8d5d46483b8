package ring

import (
	"cmp"
	"math"
	"slices"
)

// A scale balances one kind of load between nodes: replicas in one case, first places (owners) in the other.
type scale struct {
	fair  []float64       // by node: the load it should have
	load  func(n int) int // the load it has
	tight bool            // balance as far as rounding allows, not only into the band
	// open says whether one unit can go from one node straight to another.
	open func(from, to int) bool
	// step is the partition through which one unit can go from one node straight to another, the best if there are
	// several, or none.
	step func(from, to int) int
	// shift moves one unit through that partition.
	shift func(p, from, to int)
}

// band is the range of loads that a node may have: its fair share ± 25 %, or ± 1 where that is more.
func (s *scale) band(n int) (low, high int) {
	fair := s.fair[n]
	if s.tight {
		return int(math.Floor(fair)), int(math.Ceil(fair))
	}
	by := max(fair/4, 1)
	return int(math.Ceil(fair - by)), int(math.Floor(fair + by))
}

// excess is the load of node n beyond its fair share; negative if it has less.
func (s *scale) excess(n int) float64 { return float64(s.load(n)) - s.fair[n] }

// even brings every node into its band, if possible. A node within its band gives or takes load only for others; one outside
// goes to its fair share at once, so that the next change needs fewer moves.
func (s *scale) even() {
	for {
		outside := []int{}
		for n := range s.fair {
			if low, high := s.band(n); s.load(n) < low || s.load(n) > high {
				outside = append(outside, n)
			}
		}
		slices.SortStableFunc(outside, func(a, b int) int { // the furthest first
			return cmp.Compare(math.Abs(s.excess(b)), math.Abs(s.excess(a)))
		})
		if !slices.ContainsFunc(outside, s.adjust) {
			return
		}
	}
}

// adjust brings one node as close to its fair share as possible, and reports whether it changed anything.
func (s *scale) adjust(n int) (changed bool) {
	for s.load(n) < int(math.Floor(s.fair[n])) && s.carry(n, true) {
		changed = true
	}
	for s.load(n) > int(math.Ceil(s.fair[n])) && s.carry(n, false) {
		changed = true
	}
	return changed
}

// carry moves one unit of load to node n, or away from it, along a shortest chain of moves between nodes, if the two ends
// differ by more than one unit. So the sum of the squares of all excesses falls, and the balancing terminates.
//
// The moves of a shortest chain do not conflict: if two of them used the same partition, the chain could be shortened there.
// If there is no chain, there is no more even assignment (this is an augmenting path in a flow network).
func (s *scale) carry(n int, towards bool) bool {
	came := make([]int, len(s.fair)) // by node: the next one on the chain to n
	for other := range came {
		came[other] = none
	}
	came[n] = n
	for reached := []int{n}; len(reached) > 0; {
		reached = s.reach(reached, came, towards)
		best, most := none, 1+1e-9 // tolerates rounding errors
		for _, other := range reached {
			gap := s.excess(other) - s.excess(n)
			if !towards {
				gap = -gap
			}
			if gap > most {
				best, most = other, gap
			}
		}
		if best != none {
			return s.pass(best, came, towards)
		}
	}
	return false
}

// reach returns the nodes one move away from the edge that were not reached before.
func (s *scale) reach(edge, came []int, towards bool) (next []int) {
	for _, at := range edge {
		for other := range came {
			from, to := at, other
			if towards {
				from, to = other, at
			}
			if came[other] == none && s.open(from, to) {
				came[other] = at
				next = append(next, other)
			}
		}
	}
	slices.Sort(next)
	return next
}

// pass moves one unit along the chain from its far end to the node where the search began.
func (s *scale) pass(far int, came []int, towards bool) bool {
	for at := far; came[at] != at; at = came[at] {
		from, to := at, came[at]
		if !towards {
			from, to = to, from
		}
		p := s.step(from, to)
		if p == none {
			return false
		}
		s.shift(p, from, to)
	}
	return true
}
