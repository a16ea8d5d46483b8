package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A plan is what happens to all worlds of a run. It does not change.
type plan struct {
	seed   uint64
	hour   float64 // of the day, UTC
	length int64   // of the run, in nanoseconds
	warm   int64   // of it, until figures count
	clocks int64   // clocks are wrong by as much at most, either way
	leader bool    // all keys have their home in the first region

	surgeFrom, surgeFor int64 // when a surge begins, and how long it rises, from the beginning of the run; 0 and 0: it is there from the beginning
	cutFrom, cutUntil   int64 // when a region is cut off, likewise; both 0 for never
	cutRegion           int
	deaths              []death
}

// A death is when an edge dies, in true time.
type death struct {
	at   int64
	edge int
}

// counted says whether what happens at a time counts in figures: not what comes while demand is being learned, nor what may be under way at the end.
func (p *plan) counted(at int64) bool { return at >= epoch+p.warm && at < epoch+p.length-second }

// counting is for how many seconds that is so.
func (p *plan) counting() float64 { return float64(p.length-p.warm-second) / 1e9 }

// surge is how much of a surge there is at a time.
func (p *plan) surge(at int64) float64 {
	at -= epoch + p.surgeFrom
	switch {
	case at < 0:
		return 0
	case at >= p.surgeFor:
		return 1
	}
	return float64(at) / float64(p.surgeFor)
}

// cutAt says whether the region is cut off at a time.
func (p *plan) cutAt(at int64) bool { return at >= epoch+p.cutFrom && at < epoch+p.cutUntil }

// clockOf is by how much the clock of a machine is wrong.
func (p *plan) clockOf(machine uint64) int64 {
	return int64((2*rand.New(rand.NewPCG(p.seed, machine)).Float64() - 1) * float64(p.clocks))
}

// A subject is a key that is simulated, and for how many it stands.
type subject struct {
	rank   int
	weight float64
	places []place
	// The limit: tokens that come back in ten seconds, and how many seconds of that a full bucket holds.
	refill int64
	fill   float64
}

// full is the rate at which a subject is checked at most.
func (s *subject) full() (rate float64) {
	for i := range s.places {
		rate += s.places[i].rate + s.places[i].surge
	}
	return rate
}

// sized is a subject whose limit is used to that part.
func sized(rank int, weight float64, places []place, used, fill float64) *subject {
	s := &subject{rank: rank, weight: weight, places: places, fill: fill}
	s.refill = max(1, int64(math.Round(10*s.full()/used)))
	return s
}

// rule is the subject's limit.
func (s *subject) rule(c limit.Consistency, share limit.Share) *limit.Rule {
	r, err := limit.Limit{
		Name: "api", Capacity: max(1, int64(math.Round(float64(s.refill)/10*s.fill))), Refill: limit.Refill{Tokens: s.refill, Per: 10 * time.Second},
		Consistency: c, Share: share,
	}.Rule()
	if err != nil {
		panic("planet: " + err.Error()) // the numbers are this package's own
	}
	return r
}
