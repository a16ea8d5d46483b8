package cli

import (
	"os"
	"runtime/debug"
)

// GCPercent is by how much the heap of a node or a gateway may grow between two collections while memory is plenty. What lives
// long is little, and what dies young much: Go's own 100 costs a third of a node's processor time, and a tenth of a gateway's.
const GCPercent = 400

// RelaxCollector sets GCPercent for a process that has no bound on its memory, unless the environment variable GOGC says
// otherwise.
func RelaxCollector() {
	if _, ok := os.LookupEnv("GOGC"); !ok {
		debug.SetGCPercent(GCPercent)
	}
}
