package agreed

import "fmt"

// A Mark tells how new a disk is: how often its store was opened, and the minute of its clock that it noted last. A disk
// whose mark is below one that its node has raised is an old copy.
type Mark struct {
	Boot   uint64 `json:"boot"`
	Minute int64  `json:"minute"`
}

// Compare orders marks: boots first, then minutes.
func (m Mark) Compare(other Mark) int {
	switch {
	case m.Boot != other.Boot && m.Boot < other.Boot, m.Boot == other.Boot && m.Minute < other.Minute:
		return -1
	case m == other:
		return 0
	}
	return 1
}

// String is the mark as people read it.
func (m Mark) String() string { return fmt.Sprintf("boot %d, minute %d", m.Boot, m.Minute) }
