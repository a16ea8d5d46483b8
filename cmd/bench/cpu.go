package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// tick is the unit in which Linux counts the processor time of a process: 100 ticks a second on every architecture that
// Go knows.
const tick = 10 * time.Millisecond

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processCPU is the processor time that a process has used, threads that have ended included; 0 if it cannot be known.
func processCPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the program's name in parentheses, and may hold spaces.
	_, rest, found := bytes.Cut(text, []byte(") "))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 13 {
		return 0
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	if err != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * tick
}

// processMemory is how much memory a process has, in bytes; 0 if it cannot be known.
func processMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
