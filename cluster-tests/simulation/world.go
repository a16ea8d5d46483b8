package simulation

import (
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// origin is the true time at which worlds begin: 2026, in nanoseconds since the Unix epoch.
const origin = int64(1767225600) * second

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
	cut    [maxSlots + 1][maxSlots + 1]int // faults that keep messages from one slot from another; 0 is the callers'
	mended int64                           // when the last of them ended, or a process went on
	raft   raft
	leader *process
	ruin   *ruin // nil unless raft has lost its majority for ever
	mask   uint  // who is to be a member
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

// newWorld is the world of a scenario before anything has happened.
func newWorld(s *scenario, v *variant, tell *story) *World {
	own := *s // which heal changes
	w := &World{
		scenario: &own, variant: v, bounds: register.DefaultBounds(), now: origin, nodes: make([]node, maxSlots),
		open: map[uint64]*call{}, asked: map[uint64]*call{}, kept: map[uint64]bool{}, counts: Counts{}, story: tell, hash: s.seed,
	}
	w.ledger = newLedger(w)
	if s.exact {
		w.reference = newReference(w)
	}
	for i := range s.items {
		if c := s.items[i].call; c != nil && c.of != 0 {
			w.kept[c.of] = true
		}
	}
	w.mostAhead = s.epsilon
	if s.has(jumps, drifts, suspends) {
		w.mostAhead += tolerance
	}
	first := &agreed{}
	for i := range w.nodes {
		n := &w.nodes[i]
		n.slot, n.name, n.memory = i, nodeName(i), s.memory[i]
		n.clock = clock{grain: s.grain}
		n.clock.set(w.now, s.homes[i], 0)
		if i < s.founders {
			n.disk = w.newDisk(i)
			first.members[i] = member{id: n.disk.id, in: true}
			w.mask |= 1 << i
		}
	}
	w.found(first)
	for i := range s.founders {
		w.start(i)
	}
	w.after(second, w.look)
	w.after(second, w.operate)
	return w
}

// found makes the first table.
func (w *World) found(first *agreed) {
	members := first.staying()
	sets, err := ring.Assign(make([][]ring.NodeID, w.partitions), members, w.partitions, ring.Replication(len(members), w.scenario.wanted))
	if err != nil {
		panic(err)
	}
	for _, set := range sets {
		first.places = append(first.places, ring.Place{Epoch: ring.FirstEpoch, Replicas: set})
	}
	w.raft.state, w.raft.past = first, []*agreed{first}
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

// run lets everything happen until a time, or until a promise is broken.
func (w *World) run(until int64) {
	for w.violation == nil {
		if w.next < len(w.items) && (len(w.queue) == 0 || origin+w.items[w.next].at <= w.queue[0].at) {
			i := &w.items[w.next]
			if origin+i.at > until {
				break
			}
			w.next++
			w.now = max(w.now, origin+i.at)
			w.happen(i)
			continue
		}
		if len(w.queue) == 0 || w.queue[0].at > until {
			break
		}
		e := w.queue.pop()
		w.now = e.at
		w.dispatch(e)
	}
	if w.violation == nil {
		w.now = until
	}
}

// dispatch lets an event happen, where its process lives and is not frozen.
func (w *World) dispatch(e event) {
	if e.slot >= 0 {
		n := &w.nodes[e.slot]
		switch {
		case e.life != 0 && (n.proc == nil || n.proc.life != e.life):
			return
		case n.frozen:
			n.held = append(n.held, e)
			return
		}
	}
	w.hash = scramble(w.hash ^ uint64(e.at) ^ uint64(e.slot)<<56)
	e.what()
}

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

// rule is the limit's rule as a process knows it.
func (p *process) rule(l int) *limit.Rule {
	version := 0
	if p.seen != nil {
		version = p.seen.limits
	}
	return p.w.limits[l].rules[version]
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
