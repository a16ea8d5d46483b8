// Package clock is the node clock: the wall clock at the start of the process plus the monotonic time since. It never
// goes back, whatever happens to the wall clock; it may jump forward. Everything else in jeton takes the time as an
// argument, or a func() int64. Start with [New]. A [Wall] is the clock of the machine as it is, for what must see that it was set.
//
// With the build tag "faults", which is for tests only, a file says how wrong the clock is. Without the tag none of that is
// compiled in.
package clock

import "sync/atomic"

// A Clock tells nanoseconds since the Unix epoch. It is safe for concurrent use.
type Clock struct {
	reading reading
	ahead   atomic.Int64 // how far Advance has moved the clock, in nanoseconds
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

// Advance moves the clock forward to at least the time to. A time that has passed changes nothing. It is for machines that
// were suspended: monotonic time stood still meanwhile.
func (c *Clock) Advance(to int64) {
	for {
		ahead := c.ahead.Load()
		behind := to - (c.reading.now() + ahead)
		if behind <= 0 || c.ahead.CompareAndSwap(ahead, ahead+behind) {
			return
		}
	}
}

// Ahead is how far Advance has moved the clock so far, in nanoseconds. A time that is read afterwards includes it.
func (c *Clock) Ahead() int64 { return c.ahead.Load() }
