package simulation

import (
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

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
	for i, off := range s.edges {
		w.edges = append(w.edges, &edge{w: w, number: i + 1, off: off, shares: map[int]*share{}})
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
