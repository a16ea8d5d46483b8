//go:build !faults

package clock

import "time"

// A reading is the wall clock at the start of the process plus the monotonic time since.
type reading struct {
	start time.Time
	wall  int64
}

func (r *reading) begin() {
	r.start = time.Now()
	r.wall = r.start.UnixNano()
}

// now never decreases.
func (r *reading) now() int64 { return r.wall + int64(time.Since(r.start)) }
