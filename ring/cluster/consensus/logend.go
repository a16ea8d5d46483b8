package consensus

import "fmt"

// A LogEnd is where a raft log ends. Of several nodes' logs, the one that ends last holds all that was ever agreed on and
// that any of them holds.
type LogEnd struct {
	Term  uint64 `json:"term"` // of the last entry
	Index uint64 `json:"index"`
}

// After says whether a log that ends here holds more than one that ends at other.
func (e LogEnd) After(other LogEnd) bool {
	return e.Term > other.Term || e.Term == other.Term && e.Index > other.Index
}

// String is the end as people read it.
func (e LogEnd) String() string { return fmt.Sprintf("entry %d of term %d", e.Index, e.Term) }
