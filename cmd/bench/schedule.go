package bench

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A schedule hands out the times, from the start of the load, at which calls are meant to begin. They do not depend on
// when earlier calls are answered, and latencies are measured from them: a service that stalls delays every call that was
// to begin meanwhile, and each of these delays is seen. (To measure from when a caller came to make the call would leave
// out just the worst of them, which is known as coordinated omission.)
//
// All callers take their calls from one schedule, as the customers of one queue with many counters do.
type schedule interface {
	next() time.Duration
}

func newSchedule(l Load) schedule {
	if l.Arrivals == Poisson {
		return &poissonSchedule{rate: l.Rate, rand: rand.New(rand.NewPCG(l.Seed, maxCallers))}
	}
	return &evenSchedule{rate: l.Rate}
}

// An evenSchedule has calls at the same distance.
type evenSchedule struct {
	rate float64
	made atomic.Int64
}

func (s *evenSchedule) next() time.Duration {
	return time.Duration(float64(s.made.Add(1)-1) / s.rate * float64(time.Second))
}

// A poissonSchedule has calls at random distances: how long it is to the next one says nothing about the one after it.
type poissonSchedule struct {
	rate float64

	mu   sync.Mutex
	rand *rand.Rand
	at   float64 // seconds
}

func (s *poissonSchedule) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at += s.rand.ExpFloat64() / s.rate
	return time.Duration(s.at * float64(time.Second))
}
