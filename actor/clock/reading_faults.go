//go:build faults

package clock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// This file is for tests only. In a binary that is built with the tag "faults", the file that the environment variable
// JETON_FAULT_CLOCK names says how wrong the clock of the process is:
//
//	{"offset_ns": 10000000000, "drift_ppm": -10000}
//
// The process reads the file at its start, and checks for another one at most every 10 ms. Without the file the clock is right.
// A test changes the file by renaming another one over it: a file that cannot be read as such a document ends the process, since
// then the test is wrong.

// A fault is how wrong a clock is.
type fault struct {
	// Offset is how far the clock is ahead of the true time, in nanoseconds; negative if it is behind.
	Offset int64 `json:"offset_ns"`
	// Drift is how many microseconds the clock gains each second, from the moment the file was read.
	Drift int64 `json:"drift_ppm"`
}

const lookEvery = 10 * time.Millisecond

// A reading is the wall clock at the start of the process plus the monotonic time since, made wrong by the fault. Where the fault
// would turn it back, it stands still until the true reading has caught up, since the clock never goes back.
type reading struct {
	start time.Time
	wall  int64
	file  string // empty: the clock is right

	mu     sync.Mutex
	looked time.Duration // after the start
	seen   fs.FileInfo   // the file that was read last; nil if there was none
	since  time.Duration // when that was, after the start
	fault  fault
	last   int64
}

func (r *reading) begin() {
	r.start = time.Now()
	r.wall = r.start.UnixNano()
	r.file = os.Getenv("JETON_FAULT_CLOCK")
	r.looked = -lookEvery
	r.now()
}

// now never decreases.
func (r *reading) now() int64 {
	passed := time.Since(r.start)
	if r.file == "" {
		return r.wall + int64(passed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if passed-r.looked >= lookEvery {
		r.looked = passed
		r.look(passed)
	}
	wrong := r.fault.Offset + int64(float64(passed-r.since)*float64(r.fault.Drift)/1e6)
	r.last = max(r.last, r.wall+int64(passed)+wrong)
	return r.last
}

// look reads the file if another one has taken its place.
func (r *reading) look(passed time.Duration) {
	info, err := os.Stat(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		r.seen, r.fault = nil, fault{}
		return
	}
	if err == nil && r.seen != nil && os.SameFile(info, r.seen) && info.ModTime().Equal(r.seen.ModTime()) {
		return
	}
	var f fault
	text, err := os.ReadFile(r.file)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&f)
	}
	if err != nil {
		panic(fmt.Sprintf("JETON_FAULT_CLOCK: %v: replace the file by renaming one that says {\"offset_ns\": n, \"drift_ppm\": n}", err))
	}
	r.seen, r.since, r.fault = info, passed, f
}
