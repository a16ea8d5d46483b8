package main

import (
	"cmp"
	"slices"
)

// A judge knows what was admitted of one bucket, and when: in true time. It is independent of the arithmetic of the limiter: plain tokens, and a level that goes
// down as they come back. All is in whole numbers, tokens times nanoseconds of the time in which the refill comes back.
//
// The level is the most by which what was admitted in a window that ends now exceeds what came back in it. It is also what a central bucket that admitted the same would have
// to refill. So it tells both whether more was admitted than the promise allows, and whether a denial was one that this bucket would have made.
type judge struct {
	capacity, refill, per int64 // refill tokens come back in per nanoseconds
	off                   int64 // ε: by how much clocks may be wrong, in nanoseconds

	forgets bool // it keeps no log: nothing comes late

	log   []admission
	late  bool // something came that belongs before what is in the level
	level int64
	at    int64
	worst int64 // the most that the level was above what the promise allows
}

// An admission is what was admitted at a time.
type admission struct{ at, cost int64 }

// admit takes in an admission.
func (j *judge) admit(at, cost int64) {
	a := admission{at, cost}
	if !j.forgets {
		j.log = append(j.log, a)
	}
	j.late = j.late || at < j.at
	j.fill(a)
}

func (j *judge) fill(a admission) {
	j.level = j.left(a.at) + a.cost*j.per
	j.at = max(j.at, a.at)
	j.worst = max(j.worst, j.level-j.capacity*j.per-2*j.off*j.refill)
}

// left is the level at a time.
func (j *judge) left(at int64) int64 {
	passed := max(at-j.at, 0)
	if passed > j.level/j.refill {
		return 0
	}
	return j.level - passed*j.refill
}

// wouldAdmit says whether a central bucket that has admitted the same admits a cost at a time.
func (j *judge) wouldAdmit(at, cost int64) bool { return j.fit(at, cost) == cost }

// fit is how much of a cost such a bucket admits at a time, token by token.
func (j *judge) fit(at, cost int64) int64 {
	return min(cost, max(0, j.capacity-(j.left(at)+j.per-1)/j.per))
}

// overshoot is how many tokens too many were admitted in the worst window. If something came late, it goes through all admissions in their order.
func (j *judge) overshoot() float64 {
	if j.late {
		slices.SortStableFunc(j.log, func(a, b admission) int { return cmp.Compare(a.at, b.at) })
		j.level, j.at, j.worst, j.late = 0, 0, 0, false
		for _, a := range j.log {
			j.fill(a)
		}
	}
	return max(0, float64(j.worst)/float64(j.per))
}
