// Package clock is the node clock: the wall clock when the process started, carried on by monotonic time. It never
// goes back, whatever happens to the wall clock, and it may jump forward. Everything else in jeton takes its time as
// an argument, or a func() int64.
//
// Built with the tag "faults", which is for tests only, the clock is as wrong as a file says. Without the tag nothing of
// that is compiled in.
package clock

import "sync/atomic"

// A Clock tells nanoseconds since the Unix epoch. It is safe for concurrent use.
type Clock struct {
	reading reading
	ahead   atomic.Int64 // how far Advance has moved it
}

// New is a clock that starts at the wall clock's time.
func New() *Clock {
	c := &Clock{}
	c.reading.begin()
	return c
}

// Now is the time. It never decreases.
func (c *Clock) Now() int64 {
	return c.reading.now() + c.ahead.Load()
}

// Advance moves the clock forward to at least the time to. A time that has passed changes nothing. It is for a machine
// that was suspended, whose monotonic time stood still meanwhile.
func (c *Clock) Advance(to int64) {
	for {
		ahead := c.ahead.Load()
		behind := to - (c.reading.now() + ahead)
		if behind <= 0 || c.ahead.CompareAndSwap(ahead, ahead+behind) {
			return
		}
	}
}

// Ahead is by how much Advance has moved the clock so far, in nanoseconds. A time that is read afterwards includes it.
func (c *Clock) Ahead() int64 { return c.ahead.Load() }
