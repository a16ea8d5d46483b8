package consensus

import (
	"cmp"
	"fmt"
)

// A LogEnd is where a raft log ends. Of several nodes' logs, the one that ends last holds all that was ever agreed on and
// that any of them holds. A forced recovery begins terms and entries anew, and ends what a node knows that it has passed over.
type LogEnd struct {
	Recoveries uint64 `json:"recoveries,omitempty"` // forced ones, in which raft was lost, before the last entry; 0 also from a node that does not tell
	Term       uint64 `json:"term"`                 // of the last entry
	Index      uint64 `json:"index"`
}

// After says whether a log that ends here holds more than one that ends at other.
func (e LogEnd) After(other LogEnd) bool {
	return cmp.Or(cmp.Compare(e.Recoveries, other.Recoveries), cmp.Compare(e.Term, other.Term), cmp.Compare(e.Index, other.Index)) > 0
}

// String is the end as people read it.
func (e LogEnd) String() string { return fmt.Sprintf("entry %d of term %d", e.Index, e.Term) }
