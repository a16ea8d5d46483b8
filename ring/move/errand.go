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

// A pace says how long to wait after a failure: the shorter, the more is waiting.
type pace uint8

const (
	leisurely pace = iota // nothing waits
	agreement             // raft may have no leader for a moment
	urgent                // the partition is sealed: no line of it can be reserved
)

// wait is how long to wait after so many failures in a row, in nanoseconds: twice as long each time, up to a bound.
func (p pace) wait(failures int) int64 {
	first, most := second, 15*second
	switch p {
	case agreement:
		first, most = 100*millisecond, 5*second
	case urgent:
		first, most = 50*millisecond, 2*second
	case leisurely:
	}
	return min(first<<min(failures-1, 16), most)
}

// An errand is one thing that is asked of one node, or of raft, until it is done.
type errand struct {
	pace     pace
	asked    bool // it is being done, and an answer will come
	done     bool
	failures int   // in a row
	at       int64 // not to be asked before
}

// answered ends an attempt. What has been done stays done, whatever a later or repeated answer says.
func (e *errand) answered(ok bool, now int64) {
	e.asked = false
	if e.done = e.done || ok; !ok {
		e.failures++
		e.at = now + e.pace.wait(e.failures)
	}
}

// errands are the same thing asked of several nodes.
type errands struct {
	pace pace
	by   map[ring.NodeID]*errand
}

func newErrands(p pace) errands { return errands{pace: p, by: map[ring.NodeID]*errand{}} }

func (all errands) of(node ring.NodeID) *errand {
	e, ok := all.by[node]
	if !ok {
		e = &errand{pace: all.pace}
		all.by[node] = e
	}
	return e
}

// again lets all be tried at once that have failed, because a node is back: it may be the source that was missing. Of the
// node itself it is as if nothing had failed.
func (all errands) again(node ring.NodeID) {
	for id, e := range all.by {
		if e.at = 0; id == node {
			e.failures = 0
		}
	}
}

// at gives all of them another pace.
func (all errands) at(p pace) errands {
	for _, e := range all.by {
		e.pace = p
	}
	return errands{pace: p, by: all.by}
}

// keep forgets what was asked of other nodes.
func (all errands) keep(nodes []ring.NodeID) {
	maps.DeleteFunc(all.by, func(node ring.NodeID, _ *errand) bool { return !slices.Contains(nodes, node) })
}

// done are those of the nodes that have done it, in their order.
func (all errands) done(nodes []ring.NodeID) []ring.NodeID {
	var done []ring.NodeID
	for _, node := range nodes {
		if all.of(node).done {
			done = append(done, node)
		}
	}
	return done
}
