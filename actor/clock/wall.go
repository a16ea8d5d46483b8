//go:build !faults

package clock

import "time"

// A Wall is the wall clock of the machine as it is, and the monotonic time beside it. Where the two go apart, the machine was suspended, or the wall clock
// was set.
type Wall struct{ start time.Time }

// Begin starts the monotonic time.
func (w *Wall) Begin() { w.start = time.Now() }

// Read is the wall clock, in nanoseconds since the Unix epoch, and the monotonic time since Begin, read at once.
func (w *Wall) Read() (wall, passed int64) {
	t := time.Now()
	return t.UnixNano(), int64(t.Sub(w.start))
}
