package bound

import (
	"errors"
	"syscall"
)

// NoDescriptors says whether err means that the process, or the machine, has no file descriptor left. That passes.
func NoDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

const (
	// reserve is how many descriptors are kept for files, for raft's and the peers' connections, and for whatever else the
	// process opens itself; half of them where there are fewer than twice that.
	reserve = 2048
	// maxConnections is how many connections a listener is worth at most: each costs memory too.
	maxConnections = 16384
)

// A Share is how many of the connections of a process a listener may have.
type Share struct {
	Part, Of int // such as 1 of 2
	Most     int // however many there are; 0 for no bound of its own
}

// Connections is how many connections a listener may have, of the limit of descriptors of the process. The Go runtime
// has raised that limit as far as it may.
func (s Share) Connections(limit uint64) int {
	spare := limit - min(reserve, limit/2)
	n := int(min(spare, 1<<20)) * s.Part / s.Of
	most := maxConnections
	if s.Most > 0 {
		most = min(most, s.Most)
	}
	return max(1, min(n, most))
}
