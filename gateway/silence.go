package gateway

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// silentAfter is how many requests in a row an instance leaves without an answer before that is told.
	silentAfter = 5
	// silentFor is how long after the last of them that is told: an instance that is not asked any more may be well again.
	silentFor = time.Minute
)

// A silence knows whether an instance that takes connections answers. Every request that was sent tells it what came of it.
type silence struct {
	some atomic.Bool // whether count is not 0

	mu          sync.Mutex
	count       int       // of requests in a row without an answer in time
	since, last time.Time // when the first and the last of them were given up
}

// tell takes in what came of a request at now; nil is an answer. Errors that may be due to the client say nothing.
func (s *silence) tell(err error, now time.Time) {
	if err == nil && !s.some.Load() {
		return
	}
	slow, is := errors.AsType[net.Error](err)
	if err != nil && (!is || !slow.Timeout()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.count = 0
		s.some.Store(false)
		return
	}
	if s.count++; s.count == 1 {
		s.since = now
		s.some.Store(true)
	}
	s.last = now
}

// lasts says since when the instance answers nothing, and how many requests that were; 0 if it does, or that is not known at now.
func (s *silence) lasts(now time.Time) (since time.Time, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count < silentAfter || now.Sub(s.last) > silentFor {
		return time.Time{}, 0
	}
	return s.since, s.count
}
