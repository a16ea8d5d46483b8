// Package clock is the node clock: the wall clock when the process started, carried on by monotonic time. It never
// goes back, whatever happens to the wall clock, and it may jump forward. Everything else in jeton takes its time as
// an argument, or a func() int64.
package clock

import (
	"sync/atomic"
	"time"
)

// A Clock tells nanoseconds since the Unix epoch. It is safe for concurrent use.
type Clock struct {
	start time.Time
	wall  int64
	ahead atomic.Int64 // how far Advance has moved it
}

// New is a clock that starts at the wall clock's time.
func New() *Clock {
	now := time.Now()
	return &Clock{start: now, wall: now.UnixNano()}
}

// Now is the time. It never decreases.
func (c *Clock) Now() int64 {
	return c.wall + int64(time.Since(c.start)) + c.ahead.Load()
}

// Advance moves the clock forward to at least the time to. A time that has passed changes nothing. It is for a machine
// that was suspended, whose monotonic time stood still meanwhile.
func (c *Clock) Advance(to int64) {
	for {
		ahead := c.ahead.Load()
		behind := to - (c.wall + int64(time.Since(c.start)) + ahead)
		if behind <= 0 || c.ahead.CompareAndSwap(ahead, ahead+behind) {
			return
		}
	}
}
