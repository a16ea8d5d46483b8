package simulation

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/storage/register"
)

// A World is a cluster and its callers, with all that can go wrong. Nothing in it depends on anything but its scenario.
type World struct {
	*scenario

	variant *variant
	bounds  register.Bounds

	now   int64
	seq   uint64
	queue queue
	next  int // item

	nodes  []node
	edges  []*edge
	floors int                             // how often a start has set one
	cut    [maxSlots + 1][maxSlots + 1]int // faults that keep messages from one slot from another; 0 is the callers'
	mended int64                           // when the last of them ended, or a process went on
	raft   raft
	leader *process
	ruin   *ruin // nil unless raft has lost its majority for ever
	mask   uint  // which nodes are to be members
	sets   []*replicaSet

	open      map[uint64]*call // by id; never iterated over
	asked     map[uint64]*call // by the item that planned it, of those whose receipts may be given back
	kept      map[uint64]bool  // items whose receipts are given back
	ledger    *ledger
	reference *reference
	mostAhead int64 // a clock may be off whose reservations replicas accept

	counts    Counts
	hash      uint64
	story     *story
	violation *Violation
	healed    int64 // when all faults ended
	unplanned uint64
}

// An edge decides by leases: it runs the production's steps of what an edge has of a bucket, as package actor/edge does.
type edge struct {
	w      *World
	number int
	off    int64          // of its clock
	life   int            // how often it was killed, or has dropped all
	shares map[int]*share // by bucket
}

// A share is what an edge has of a bucket.
type share struct {
	*lease.Share

	edge    *edge
	life    int // of the edge
	bucket  int
	gone    bool // others go by other numbers
	waiting []*edgeCheck
	undone  int64 // the true time at which a piece was put back last
}

// An edgeCheck is a check that an edge is asked.
type edgeCheck struct {
	item    *item
	life    int   // of the edge
	begun   int64 // true time at which the edge's clock was read
	reading int64 // what it showed
}

// A ruin is the loss for ever of so many members that raft has lost its majority, and the forced recovery by which an operator
// goes on with those that are left; see ring/cluster. Until it is done, nothing is agreed.
type ruin struct {
	left  []int   // slots
	known *agreed // what those know together
	tries int
}

// A raft stands for the members that agree: a majority that can reach each other.
type raft struct {
	state  *agreed
	past   []*agreed
	tables []*agreed // the last ones before a table was changed
	lost   int       // how often a majority of its members was lost for ever
	outage int       // faults that keep it from agreeing on anything
}

func (w *World) push(e event) {
	if e.at < w.now {
		panic("simulation: an event in the past")
	}
	w.seq++
	e.seq = w.seq
	w.queue.push(e)
}

// after lets something happen to the world itself.
func (w *World) after(d int64, what func()) { w.push(event{at: w.now + d, slot: -1, what: what}) }

// thaw lets a frozen process go on: all that was held back happens now.
func (w *World) thaw(n *node) {
	if !n.frozen {
		return
	}
	n.frozen, n.silent, w.mended = false, 0, w.now
	held := n.held
	n.held = nil
	for _, e := range held {
		e.at = w.now
		w.push(e)
	}
}

// version is that of the limits as a process knows them.
func (p *process) version() int {
	if p.seen == nil {
		return 0
	}
	return p.seen.limits
}

// mayBeAhead is by how much a clock may be off whose reservations replicas accept at once.
func (w *World) mayBeAhead() int64 { return w.mostAhead }

// isRight says whether a node's clock is as near to the true time as it is without faults, and goes on to be: what a coarse
// clock happens to show at the moment says little.
func (w *World) isRight(n *node) bool {
	latest := max(n.clock.raw(w.now), n.clock.at(w.now))
	earliest := n.clock.raw(w.now) - n.clock.grain
	return latest-w.now <= w.epsilon && w.now-earliest <= w.epsilon
}

// isFar says whether a process's clock is farther off than any that replicas accept.
func (w *World) isFar(p *process) bool {
	ahead := p.clock.ahead(w.now)
	return max(ahead, -ahead) > w.mayBeAhead()
}
