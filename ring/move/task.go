package move

import (
	"maps"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

const (
	millisecond = int64(1e6)
	second      = 1000 * millisecond
)

// A pace is how long to wait before a retry: the more urgent, the shorter.
type pace uint8

const (
	patient pace = iota // nothing waits
	prompt              // raft may be electing a leader
	urgent              // the partition is sealed: nothing can be reserved
)

// wait is the backoff after that many failures in a row, in nanoseconds: it doubles each time, up to a bound.
func (p pace) wait(failures int) int64 {
	first, most := second, 15*second
	switch p {
	case prompt:
		first, most = 100*millisecond, 5*second
	case urgent:
		first, most = 50*millisecond, 2*second
	case patient:
	}
	return min(first<<min(failures-1, 16), most)
}

// A task is one request to one node, or to raft, that is retried until it succeeds.
type task struct {
	pace     pace
	asked    bool // an attempt is under way
	done     bool
	failures int   // in a row
	floored  bool  // what has sealed has a floor
	at       int64 // no attempt before this time
}

// answered ends an attempt. A task that is done stays done, whatever a later or repeated answer says.
func (e *task) answered(ok bool, now int64) {
	e.asked = false
	if e.done = e.done || ok; !ok {
		e.failures++
		e.at = now + e.pace.wait(e.failures)
	}
}

// tasks are the same task for several nodes.
type tasks struct {
	pace pace
	by   map[ring.NodeID]*task
}

func newTasks(p pace) tasks { return tasks{pace: p, by: map[ring.NodeID]*task{}} }

func (all tasks) of(node ring.NodeID) *task {
	e, ok := all.by[node]
	if !ok {
		e = &task{pace: all.pace}
		all.by[node] = e
	}
	return e
}

// again makes all failed tasks due at once, because a node is back: it may be the source that was missing. The failures of
// that node's own task are forgotten.
func (all tasks) again(node ring.NodeID) {
	for id, e := range all.by {
		if e.at = 0; id == node {
			e.failures = 0
		}
	}
}

// at sets the pace of all tasks.
func (all tasks) at(p pace) tasks {
	for _, e := range all.by {
		e.pace = p
	}
	return tasks{pace: p, by: all.by}
}

// keep removes the tasks of all other nodes.
func (all tasks) keep(nodes []ring.NodeID) {
	maps.DeleteFunc(all.by, func(node ring.NodeID, _ *task) bool { return !slices.Contains(nodes, node) })
}

// done returns those of the nodes whose task is done, in their order.
func (all tasks) done(nodes []ring.NodeID) []ring.NodeID {
	var done []ring.NodeID
	for _, node := range nodes {
		if all.of(node).done {
			done = append(done, node)
		}
	}
	return done
}
