package driver

import (
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/move"
)

// A job is an action of one partition's move.
type job struct {
	partition ring.Partition
	action    move.Action
}

// A lane is a queue of calls. A bounded number of them runs at once, at most half of those to one node: a slow node does not
// hold up the calls to others.
type lane struct {
	queue   []job
	limit   int
	running int
	at      map[ring.NodeID]int // running, by node
}

// lanes are all queues of calls. They are bounded by the partitions: a move asks each node for one thing at a time.
type lanes struct{ urgent, copying, completing *lane }

// proposals wait for raft. One is under way at a time: everything that becomes ready meanwhile goes into the next one.
type proposals struct {
	proposing bool
	agrees    []job // at most one of each partition that is still wanted
	commits   []job
	rescues   []agreed.Change // made anew at each look
	removal   *agreed.Node
}

// same says whether two jobs that wait for raft are of one partition.
func (j job) same(other job) bool { return j.partition == other.partition }

// enqueue puts a job into its queue.
func (t *term) enqueue(j job) {
	t.queued = true
	switch a := j.action.(type) {
	case move.Agree:
		t.agrees = append(t.agrees, j)
	case move.Commit:
		t.commits = append(t.commits, j)
	case move.Copy:
		t.lanes.copying.queue = append(t.lanes.copying.queue, j)
	case move.Complete:
		if a.Epoch == t.moves[j.partition].Place().Epoch {
			t.lanes.completing.queue = append(t.lanes.completing.queue, j)
			return
		}
		t.lanes.urgent.queue = append(t.lanes.urgent.queue, j)
	default:
		t.lanes.urgent.queue = append(t.lanes.urgent.queue, j)
	}
}

// nodeOf is the node that an action calls.
func nodeOf(a move.Action) ring.NodeID {
	switch a := a.(type) {
	case move.Copy:
		return a.Node
	case move.Seal:
		return a.Node
	case move.Install:
		return a.Node
	case move.Complete:
		return a.Node
	}
	return ring.NodeID{}
}
