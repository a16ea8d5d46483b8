package nemesis

import "time"

// A Setting is what a schedule is drawn for.
type Setting struct {
	// Nodes is how many nodes the cluster is founded with, and Replicas how many keep each register.
	Nodes, Replicas int
	// Gateways is how many gateways ask for a part of the checks; 0 for none.
	Gateways int
	// Time is how long faults go on.
	Time time.Duration
	// Seed decides everything that is drawn.
	Seed uint64
	// Network says that the nodes are in namespaces of their own, so that they can be cut off from each other.
	Network bool
	// Mounts says that file systems can be mounted, so that one can be full.
	Mounts bool
	// Late says that packets between nodes can be made late.
	Late bool
	// Only are the names of the kinds that are drawn; empty for all.
	Only []string
}

// Faults last as long as their kinds say in a run of at least fullScale. In shorter runs they last shorter in proportion, but not
// less than minScale of that.
const (
	fullScale = 4 * time.Minute
	minScale  = 0.1
)

// scale shortens a length for a short run.
func (s Setting) scale(length time.Duration) time.Duration {
	f := min(1, max(minScale, float64(s.Time)/float64(fullScale)))
	return time.Duration(float64(length) * f)
}

// In a run that is long enough, the last seconds of every period are calm: no fault begins in them, and those before are
// over. Only then can it be seen that all is admitted that has to be.
const (
	period = 90 * time.Second
	calm   = 18 * time.Second
)

// calmUntil is when the calm at a time of the run ends; at itself, if it is not calm then.
func (s Setting) calmUntil(at time.Duration) time.Duration {
	if s.Time >= 2*period && at%period >= period-calm {
		return at - at%period + period
	}
	return at
}

// minority is how many nodes may be down without callers noticing.
func (s Setting) minority() int { return (s.Replicas - 1) / 2 }
