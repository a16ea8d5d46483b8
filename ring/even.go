package ring

import (
	"cmp"
	"math"
	"slices"
)

// A scale weighs nodes by something they have, and moves it about: replicas in one case, first places in the other.
type scale struct {
	fair  []float64       // by node: how much it should have
	load  func(n int) int // how much it has
	tight bool            // whether nothing but rounding may be left over
	// open says whether one unit can go from one node straight to another.
	open func(from, to int) bool
	// step is the partition through which one unit can go from one node straight to another, the best if there are
	// several, or none.
	step func(from, to int) int
	// shift moves one unit through that partition.
	shift func(p, from, to int)
}

// band is how much a node may have: its fair share ± 25 %, or ± 1 where that is more.
func (s *scale) band(n int) (low, high int) {
	fair := s.fair[n]
	if s.tight {
		return int(math.Floor(fair)), int(math.Ceil(fair))
	}
	by := max(fair/4, 1)
	return int(math.Ceil(fair - by)), int(math.Floor(fair + by))
}

// excess is how much node n has beyond its fair share; negative when it lacks some.
func (s *scale) excess(n int) float64 { return float64(s.load(n)) - s.fair[n] }

// even brings every node into its band, if that can be done. A node that is within it gives or takes only for others;
// one that is not goes to its fair share at once, so that the next change finds room.
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
		if !slices.ContainsFunc(outside, s.settle) {
			return
		}
	}
}

// settle brings one node as near to its fair share as it goes, and says whether that changed anything.
func (s *scale) settle(n int) (changed bool) {
	for s.load(n) < int(math.Floor(s.fair[n])) && s.carry(n, true) {
		changed = true
	}
	for s.load(n) > int(math.Ceil(s.fair[n])) && s.carry(n, false) {
		changed = true
	}
	return changed
}

// carry brings one unit to node n, or away from it, by as few steps as can be: from one that has more, to one that has
// less, by more than the unit itself. So the sum of the squares of all excesses falls, and evening out ends.
//
// Steps of a shortest chain do not stand in each other's way: if two of them met in one partition, the chain could be cut
// short there. And where there is no chain, there is no evener assignment either (this is a flow through a network).
func (s *scale) carry(n int, towards bool) bool {
	came := make([]int, len(s.fair)) // by node: the next one on the way to n
	for other := range came {
		came[other] = none
	}
	came[n] = n
	for reached := []int{n}; len(reached) > 0; {
		reached = s.reach(reached, came, towards)
		best, most := none, 1+1e-9 // beyond what adding fractions gets wrong
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

// reach goes one step further from the nodes at the edge, to nodes where nobody came by yet.
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

// pass moves a unit along the chain that leads from the node at its far end back to where the search began.
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
