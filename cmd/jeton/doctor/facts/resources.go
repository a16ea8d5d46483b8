package facts

import "time"

// Files is how many files a process may have open.
type Files struct {
	Limit   uint64 `json:"limit"`          // 0: not known
	Open    int    `json:"open,omitempty"` // 0: not known
	Of      int    `json:"of,omitempty"`   // the process whose limit it is; 0: that of this program
	Unknown string `json:"unknown,omitempty"`
}

// Memory is how much memory a node takes at most, and how much there is.
type Memory struct {
	Bound  int64  `json:"bound"`  // bytes that the node stays below; 0: no bound
	Source string `json:"source"` // what says so
	There  uint64 `json:"there"`  // bytes that the machine or the control group has; 0: not known
	Of     string `json:"of"`     // which of the two
	// Killed is how often the kernel has killed a process of the node's control group for want of memory; -1: not known.
	Killed int `json:"killed"`
}

// Processors are what a node computes with.
type Processors struct {
	Count int     `json:"count"`
	Quota float64 `json:"quota,omitempty"` // of processors, by the control group; 0: none, or not known
	// Periods are those in which the control group had something to do, and Throttled those in which it had used up its quota.
	Periods   int64 `json:"periods,omitempty"`
	Throttled int64 `json:"throttled,omitempty"`
}

// A Clock is what the kernel knows of the machine's clock.
type Clock struct {
	Synchronized bool          `json:"synchronized"` // a time service sets it
	Error        time.Duration `json:"error_ns"`     // as that service estimates it
	Source       string        `json:"source,omitempty"`
	Unknown      string        `json:"unknown,omitempty"`
}
