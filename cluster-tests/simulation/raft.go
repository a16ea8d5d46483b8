package simulation

import "github.com/jeton-dev/jeton/ring"

// remembered is how many past states are kept, one of which a node that starts sees first.
const remembered = 8

// agrees says whether a node can have something agreed now, or learn what is.
func (w *World) agrees(slot int) bool {
	n := &w.nodes[slot]
	if w.raft.outage > 0 || w.ruin != nil || n.deaf > 0 || n.proc == nil {
		return false
	}
	heard, members := 0, 0
	for i := range w.nodes {
		if !w.raft.state.members[i].in {
			continue
		}
		members++
		if other := &w.nodes[i]; other.proc != nil && !other.frozen && w.connected(slot, i) && w.connected(i, slot) {
			heard++
		}
	}
	return heard >= ring.Majority(members)
}

// propose asks for something to be agreed and says how that ended: not ok may mean that it was agreed all the same, or
// will be.
func (p *process) propose(c command, done func(ok bool)) {
	w := p.w
	d := throw(w.seed, forProposal, uint64(p.slot), uint64(w.now))
	p.after(d.between(ms, 20*ms), func() {
		if !w.agrees(p.slot) {
			p.after(d.between(10*ms, 2*second), func() { done(false) })
			return
		}
		if d.happens(w.rates.agreement) {
			w.count("proposals failed")
			if d.percent(50) {
				w.count("proposals failed but agreed")
				lost := w.raft.lost
				w.after(d.between(0, 5*second), func() {
					if w.raft.lost == lost {
						w.apply(c)
					}
				})
			}
			p.after(d.between(10*ms, 2*second), func() { done(false) })
			return
		}
		ok := w.apply(c)
		p.after(d.between(ms, 10*ms), func() { done(ok) })
	})
}

// apply agrees on a command, if it is not refused, and sends the new state to all nodes.
func (w *World) apply(c command) bool {
	next := c(w.raft.state)
	if next == nil {
		return false
	}
	w.raft.past = append(w.raft.past, w.raft.state)
	if len(w.raft.past) > remembered {
		w.raft.past = w.raft.past[1:]
	}
	for i, place := range next.places {
		before := w.raft.state.places[i]
		switch {
		case place.Epoch > before.Epoch:
			if n := len(w.raft.tables); n == 0 || w.raft.tables[n-1] != w.raft.state {
				w.raft.tables = append(w.raft.tables, w.raft.state)
			}
			w.count("moves committed")
			w.say(noKey, "partition %d is agreed to be in epoch %d at %s", i, place.Epoch, w.nameAll(place.Replicas))
		case len(place.Next) > 0 && len(before.Next) == 0:
			w.say(noKey, "partition %d is agreed to move from %s to %s", i, w.nameAll(before.Replicas), w.nameAll(place.Next))
		}
	}
	if n := len(w.raft.tables); n > 4 {
		w.raft.tables = w.raft.tables[n-4:]
	}
	w.raft.state = next
	for i := range w.nodes {
		if p := w.nodes[i].proc; p != nil {
			d := throw(w.seed, forNews, uint64(i), uint64(w.now))
			p.after(w.transit(&d, i, i), p.learn)
		}
	}
	return true
}

// learn takes over what is agreed, as soon as it can be had.
func (p *process) learn() {
	if p.latest == p.w.raft.state {
		return
	}
	if !p.w.agrees(p.slot) {
		if !p.learning {
			p.learning = true
			p.after(500*ms, func() {
				p.learning = false
				p.learn()
			})
		}
		return
	}
	p.latest = p.w.raft.state
	p.follow()
	if p.driver != nil {
		p.driver.follow()
	}
}

// look elects the node that drives the moves, periodically. The one before may go on for a while, until it learns of that.
func (w *World) look() {
	w.after(2*second, w.look)
	if p := w.leader; p != nil && p.running() && p.driver != nil && w.agrees(p.slot) {
		return
	}
	d := throw(w.seed, forElection, uint64(w.now))
	first := int(d.below(int64(len(w.nodes))))
	for i := range w.nodes {
		slot := (first + i) % len(w.nodes)
		if p := w.nodes[slot].proc; p != nil && p.joined && p.running() && w.raft.state.members[slot].in && w.agrees(slot) {
			if old := w.leader; old != nil && old != p {
				old.after(d.between(0, 10*second), old.stepDown)
			}
			w.leader = p
			p.drive()
			return
		}
	}
}
