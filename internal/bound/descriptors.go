package bound

import (
	"errors"
	"syscall"
)

// NoDescriptors reports whether err means that the process or the machine has no file descriptor left, which is temporary.
func NoDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

const (
	// reserve is how many descriptors are kept for files, for the connections of raft and of peers, and for all else that the
	// process opens itself; at most half of the limit.
	reserve = 2048
	// maxConnections is the maximum for a listener, however many descriptors there are: each connection also costs memory.
	maxConnections = 16384
)

// A Share is a listener's share of the connections of a process.
type Share struct {
	Part, Of int // such as 1 of 2
	Most     int // the maximum, however many descriptors there are; 0 for none
}

// Connections is how many connections a listener may have, for the process's limit of descriptors. The Go runtime has raised
// that limit to its maximum.
func (s Share) Connections(limit uint64) int {
	spare := limit - min(reserve, limit/2)
	n := int(min(spare, 1<<20)) * s.Part / s.Of
	most := maxConnections
	if s.Most > 0 {
		most = min(most, s.Most)
	}
	return max(1, min(n, most))
}
