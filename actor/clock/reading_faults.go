//go:build faults

package clock

import (
	"sync"
	"time"
)

// A reading is the wall clock at the start of the process plus the monotonic time since, made wrong by the fault. Where the fault
// would turn it back, it stands still until the true reading has caught up, since the clock never goes back.
type reading struct {
	start  time.Time
	wall   int64
	faults faults

	mu   sync.Mutex
	last int64
}

func (r *reading) begin() {
	r.start = time.Now()
	r.wall = r.start.UnixNano()
	r.faults.begin()
	r.now()
}

// now never decreases.
func (r *reading) now() int64 {
	passed := time.Since(r.start)
	now := r.wall + int64(passed) + r.faults.wrong(passed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, now)
	return r.last
}
