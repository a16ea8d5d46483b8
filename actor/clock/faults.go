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

// faults is the file, and what it said last.
type faults struct {
	file string // empty: the clock is right

	mu     sync.Mutex
	looked time.Duration // after the start
	seen   fs.FileInfo   // the file that was read last; nil if there was none
	since  time.Duration // when that was, after the start
	fault  fault
}

func (f *faults) begin() {
	f.file = os.Getenv("JETON_FAULT_CLOCK")
	f.looked = -lookEvery
	f.wrong(0)
}

// wrong is by how much the clock is wrong, in nanoseconds, so long after the start.
func (f *faults) wrong(passed time.Duration) int64 {
	if f.file == "" {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if passed-f.looked >= lookEvery {
		f.looked = passed
		f.look(passed)
	}
	return f.fault.Offset + int64(float64(passed-f.since)*float64(f.fault.Drift)/1e6)
}

// look reads the file if another one has taken its place.
func (f *faults) look(passed time.Duration) {
	info, err := os.Stat(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		f.seen, f.fault = nil, fault{}
		return
	}
	if err == nil && f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) {
		return
	}
	var read fault
	text, err := os.ReadFile(f.file)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&read)
	}
	if err != nil {
		panic(fmt.Sprintf("JETON_FAULT_CLOCK: %v: replace the file by renaming one that says {\"offset_ns\": n, \"drift_ppm\": n}", err))
	}
	f.seen, f.since, f.fault = info, passed, read
}
