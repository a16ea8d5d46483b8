//go:build faults

package clock

import "time"

// A Wall is the wall clock of the machine, made wrong by the fault, and the monotonic time beside it, which is right.
type Wall struct {
	start  time.Time
	faults faults
}

// Begin starts the monotonic time.
func (w *Wall) Begin() {
	w.start = time.Now()
	w.faults.begin()
}

// Read is the wall clock, in nanoseconds since the Unix epoch, and the monotonic time since Begin, read at once.
func (w *Wall) Read() (wall, passed int64) {
	t := time.Now()
	since := t.Sub(w.start)
	return t.UnixNano() + w.faults.wrong(since), int64(since)
}
