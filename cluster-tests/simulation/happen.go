package simulation

import "slices"

// happen lets an item of the scenario happen.
func (w *World) happen(i *item) {
	if i.kind == asksFor {
		w.beginCall(i)
		return
	}
	if i.owner > 0 {
		at := *i
		at.slot = w.home(w.keys[i.owner-1].partition)
		i = &at
	}
	n := &w.nodes[i.slot]
	d := throw(w.seed, forFault, i.id)
	if w.harmless(i, n) {
		w.counts["planned but without effect: "+i.kind.String()]++
		return
	}
	w.count(i.kind.String())
	w.say(noKey, "%s", w.describe(i))
	w.befall(n, i, &d)
}

// befall lets an item happen that can.
func (w *World) befall(n *node, i *item, d *die) {
	switch i.kind {
	case crashes:
		w.crashFor(n, i, i.last, i.value)
	case crashesMany:
		for slot := range w.nodes {
			if i.mask>>slot&1 == 1 && w.nodes[slot].proc != nil {
				w.crashFor(&w.nodes[slot], i, i.last+d.below(i.last), 0)
			}
		}
	case flaps:
		w.flap(n, w.now+i.last)
	case stops:
		if w.stop(i.slot) {
			w.restartAfter(i.slot, i.last, 0)
		}
	case freezes, suspends:
		w.freeze(n, i)
	case splits, splitsOneWay, isolates, hides:
		w.split(i)
	case strands:
		w.split(i)
		n.deaf++
		w.after(2*i.last, func() { n.deaf-- })
	case deafens:
		for slot := range w.nodes {
			if other := &w.nodes[slot]; i.mask>>slot&1 == 1 {
				other.deaf++
				w.after(i.last, func() { other.deaf-- })
			}
		}
	case silences:
		w.raft.outage++
		w.after(i.last, func() { w.raft.outage-- })
	case jumps, drifts:
		w.derange(n, i)
	case loses, copies, restores:
		w.changeDisk(n, i, d)
	case slows:
		n.slow++
		w.after(i.last, func() { n.slow-- })
	case joins:
		w.mask = i.mask
	case rules:
		w.proposeSomewhere(replaceLimits(int(i.value)))
	case drives:
		n.proc.drive()
		p := n.proc
		p.after(i.last, func() {
			if w.leader != p {
				p.stepDown()
			}
		})
	case floods:
		w.flood(i)
	case fills:
		w.fill(n, i)
	case ruins:
		w.loseMajority(i, d)
	case asksFor, kinds:
	}
}

// harmless says whether an item cannot happen as the world is now, or would break what is assumed: of the clocks no more
// than one is wrong, and no disk is lost while another one's is not made good yet.
func (w *World) harmless(i *item, n *node) bool {
	switch i.kind {
	case crashes:
		return n.proc == nil || i.value != 0 && w.anotherIsWrong(n)
	case ruins:
		left, _ := w.leftBy(i)
		return w.ruin != nil || len(left) == 0
	case stops, freezes, flaps, copies, slows, fills:
		return n.proc == nil || n.frozen
	case suspends, jumps, drifts:
		return n.proc == nil || n.frozen || n.clock.still || w.anotherIsWrong(n)
	case loses:
		return n.disk == nil || !w.canLose(n)
	case restores:
		return n.disk == nil || n.backup == nil || !w.mayRestore(n) || !w.canLose(n)
	case drives:
		return n.proc == nil || n.frozen || !n.proc.joined || n.proc.driver != nil
	case rules:
		return int(i.value) >= len(w.limits[0].rules)
	default:
		return false
	}
}

// youngest is how old a copy of a disk must be to be found out.
const youngest = 2 * minute

// mayRestore says whether the copy of a disk is one that is found out: an older one than two minutes, of whose end the
// others have heard. That no other is ever put back is an assumption.
func (w *World) mayRestore(n *node) bool {
	found := slices.Contains(w.raft.state.removed, n.backup.id) || n.backup.id != n.disk.id ||
		w.raft.state.members[n.slot].mark.above(n.backup.confirmed)
	if w.variant.young {
		return !found && w.now-n.backed > second
	}
	return found && w.now-n.backed > youngest
}

// canLose says whether the registers of a disk are kept by enough others: all moves have come to their end.
func (w *World) canLose(n *node) bool {
	if w.raft.state.size() < 3 || w.ruin != nil {
		return false
	}
	for i := range w.nodes {
		if other := &w.nodes[i]; other != n && other.unproved {
			return false
		}
	}
	for p, place := range w.raft.state.places {
		if place.Moving() {
			return false
		}
		for _, id := range place.Replicas {
			slot := w.raft.state.slot(id)
			if slot < 0 || w.nodes[slot].disk == nil || w.nodes[slot].disk.id != id {
				return false
			}
			if at := w.nodes[slot].disk.parts[p]; at.Epoch != place.Epoch || at.Incomplete {
				return false
			}
		}
		if len(place.Replicas) == 1 && place.Has(n.disk.id) {
			return false
		}
	}
	return true
}

// beginCall begins a call that was planned.
func (w *World) beginCall(i *item) {
	s := i.call
	if w.exact && !w.started() { // a node that does not decide yet sends callers on to another one
		w.after(ms, func() { w.beginCall(i) })
		return
	}
	switch s.what {
	case spends:
		w.edges[s.edge].check(i)
		return
	case kills:
		w.edges[s.edge].kill()
		return
	case shifts:
		w.edges[s.edge].jump(s.off)
		return
	default:
	}
	c := &call{
		id: i.id, what: s.what, order: s.order, key: s.key, limits: s.limits, cost: s.cost, delay: s.delay, plan: s.plan, version: s.version, until: w.now + s.wait, silent: s.silent,
		holdFor: s.hold, least: s.least, share: s.share, open: s.open,
	}
	if s.what == gives || s.what == extends || s.what == settles {
		if c.of = w.asked[s.of]; c.of != nil && s.what == settles {
			c.limits = c.of.limits
		}
	}
	if w.kept[i.id] {
		w.asked[i.id] = c
	}
	w.begin(c)
}

// started says whether every founder decides.
func (w *World) started() bool {
	for i := range w.founders {
		if p := w.nodes[i].proc; p == nil || !p.joined {
			return false
		}
	}
	return true
}

// crashFor crashes a process for a while: now, or when something is on its way to its disk.
func (w *World) crashFor(n *node, i *item, last, off int64) {
	p, slot := n.proc, n.slot
	crash := func() {
		d := throw(w.seed, forFault, i.id, uint64(slot))
		w.crash(slot, &d)
		w.restartAfter(slot, last, off)
	}
	if !i.wait {
		crash()
		return
	}
	if p.store.doom == nil {
		p.store.doom = crash
	}
}

// flap crashes a process as soon as it decides, again and again until then.
func (w *World) flap(n *node, until int64) {
	d := throw(w.seed, forFault, uint64(n.slot), uint64(w.now))
	if w.now > until || w.healed > 0 || n.frozen {
		return
	}
	if n.proc != nil && n.proc.joined {
		w.crash(n.slot, &d)
		w.restartAfter(n.slot, d.between(us, 5*ms), 0)
	}
	w.after(d.between(5*ms, 60*ms), func() { w.flap(n, until) })
}

// freeze stops a process; when a machine is suspended, its clock stands still too.
func (w *World) freeze(n *node, i *item) {
	n.frozen, n.silent = true, w.now
	if i.kind == suspends {
		n.clock.stop(w.now)
	}
	p := n.proc
	w.after(i.last, func() {
		if n.proc != p {
			return
		}
		if i.kind == suspends {
			n.clock.resume(w.now)
			w.rightLater(p, minute)
		}
		w.thaw(n)
		w.say(noKey, "%s goes on", n.name)
	})
}

// rightLater starts a process again if its clock is not right by then.
func (w *World) rightLater(p *process, after int64) {
	w.after(after, func() {
		if p.dead || w.isRight(p.node) {
			return
		}
		d := throw(w.seed, forFault, uint64(p.slot), uint64(w.now))
		w.say(noKey, "%s is restarted because its clock is wrong", p.name)
		w.crash(p.slot, &d)
		w.restartAfter(p.slot, second, 0)
	})
}

// derange makes a clock wrong.
func (w *World) derange(n *node, i *item) {
	if i.kind == jumps {
		n.clock.shift(w.now, i.value)
	} else {
		n.clock.drift(w.now, i.value)
	}
	n.wrong = i.value
	w.rightLater(n.proc, i.last)
	p := n.proc
	w.after(i.last, func() { // though it may not be noticed
		if !p.dead && n.clock.ppm != 0 {
			n.clock.drift(w.now, 0)
		}
	})
}

// changeDisk loses a disk, copies it, or puts the copy in its place.
func (w *World) changeDisk(n *node, i *item, d *die) {
	if i.kind == copies {
		n.backup, n.backed = n.disk.copy(), w.now
		return
	}
	n.unproved = true
	switch i.kind {
	case loses:
		w.crash(n.slot, d)
		n.disk = nil
	default:
		w.crash(n.slot, d)
		n.disk = n.backup.copy()
	}
	w.restartAfter(n.slot, d.between(ms, 5*second), 0)
}

// split keeps messages from one to another for a while.
func (w *World) split(i *item) {
	type way struct{ from, to int }
	var ways []way
	for a := range w.nodes {
		for b := range w.nodes {
			inside, outside := i.mask>>a&1 == 1, i.mask>>b&1 == 1
			cut := false
			switch i.kind {
			case splits:
				cut = inside != outside
			case splitsOneWay:
				cut = a == i.slot && outside
			case isolates, strands:
				cut = a == i.slot || b == i.slot
			default:
			}
			if cut && a != b {
				ways = append(ways, way{a + 1, b + 1})
			}
		}
		if i.kind == hides && a == i.slot || i.kind == splits && i.value == 1 && i.mask>>a&1 == 1 {
			ways = append(ways, way{0, a + 1}, way{a + 1, 0})
		}
	}
	for _, x := range ways {
		w.cut[x.from][x.to]++
	}
	w.after(i.last, func() {
		for _, x := range ways {
			w.cut[x.from][x.to]--
		}
		w.mended = w.now
	})
}

// proposeSomewhere has something agreed by whichever node can, as operators do.
func (w *World) proposeSomewhere(c command) {
	for i := range w.nodes {
		if p := w.nodes[i].proc; p != nil && p.running() && w.agrees(i) {
			p.propose(c, func(bool) {})
			return
		}
	}
}

// operate sees to it that the members become those that are to be.
func (w *World) operate() {
	s := w.raft.state
	busy := false
	for slot := range w.nodes {
		n, m := &w.nodes[slot], &s.members[slot]
		wanted := w.mask>>slot&1 == 1
		switch {
		case m.in && n.proc != nil && !n.frozen && n.proc.joined && slices.Contains(s.removed, n.proc.id()):
			n.proc.replaceDisk("what an earlier process had asked for has let in another disk")
		case wanted && !m.in && n.proc == nil:
			busy = true
			if n.disk != nil && slices.Contains(s.removed, n.disk.id) {
				n.disk = nil
			}
			w.setClock(n, 0)
			w.start(slot)
		case wanted && m.in && m.draining:
			w.proposeSomewhere(drain(slot, false))
		case !wanted && m.in && !m.draining:
			w.proposeSomewhere(drain(slot, true))
		case !wanted && m.in && m.draining:
			w.proposeSomewhere(remove(slot))
		case !m.in && n.proc != nil && !n.frozen && (!wanted || n.proc.joined):
			w.say(noKey, "%s was removed from the cluster, and stops", n.name)
			d := throw(w.seed, forFault, uint64(slot), uint64(w.now))
			w.crash(slot, &d)
			n.disk = nil
		}
	}
	pause := 2 * second
	if busy {
		pause = 500 * ms
	}
	w.after(pause, w.operate)
}
