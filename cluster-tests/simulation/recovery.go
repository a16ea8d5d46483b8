package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// loseMajority takes the disks of all members but those of mask, which are too few to agree on anything.
func (w *World) loseMajority(i *item, d *die) {
	left, known := w.leftBy(i)
	w.ruin = &ruin{left: left, known: known}
	w.raft.lost++
	w.say(noKey, "all members but %s are lost permanently", w.nameSlots(left))
	for slot := range w.nodes {
		if n := &w.nodes[slot]; !slices.Contains(left, slot) {
			w.crash(slot, d)
			n.disk = nil
		}
	}
	w.after(i.last, w.recover)
}

// leftBy are the nodes that are left: members that run, of those in the mask, and too few of all for a majority; and the newest
// state that any of them knows.
func (w *World) leftBy(i *item) (left []int, known *agreed) {
	s := w.raft.state
	for slot, m := range s.members {
		p := w.nodes[slot].proc
		if i.mask>>slot&1 == 1 && m.in && p != nil && p.joined && p.me == m.id && len(left)+1 < ring.Majority(s.size()) {
			left = append(left, slot)
			if known == nil || p.latest.version > known.version {
				known = p.latest
			}
		}
	}
	return slices.DeleteFunc(left, func(slot int) bool { return known.slot(w.nodes[slot].disk.id) != slot }), known
}

func (w *World) nameSlots(slots []int) string {
	var ids []ring.NodeID
	for _, slot := range slots {
		ids = append(ids, w.nodes[slot].disk.id)
	}
	return w.nameAll(ids)
}

// recover tries to recover by force, again and again: all nodes that are left must be up and reach the one that recovers. What a try
// has done before it was cut off stays done.
func (w *World) recover() {
	r := w.ruin
	r.tries++
	d := throw(w.seed, forFault, uint64(w.now), uint64(r.tries), 1<<32)
	w.after(d.between(second, 10*second), func() {
		if w.ruin == r {
			w.recover()
		}
	})
	chief := w.nodes[r.left[0]].proc
	open := 0
	for _, slot := range r.left {
		switch p := w.nodes[slot].proc; {
		case p == nil || p.frozen || chief == nil || !w.connected(chief.slot, slot) || !w.connected(slot, chief.slot):
			return
		case !w.variant.recounts:
			open += w.partitions
		}
	}
	finish := func() {
		if w.ruin != r || chief.dead || chief.frozen {
			return
		}
		if w.healed == 0 && d.percent(20) {
			w.count("forced recoveries interrupted")
			return
		}
		w.recoverAt(chief)
	}
	if open == 0 {
		finish()
		return
	}
	for _, slot := range r.left {
		for i := range w.partitions {
			w.nodes[slot].proc.store.change(ring.Partition(i), func(part register.Partition) (register.Partition, bool) { return part.End(), true }, func(bool) {
				if open--; open == 0 {
					finish()
				}
			})
		}
	}
}

// recoverAt makes what is known the state of what is agreed, with the members that are left, and begins every partition anew.
func (w *World) recoverAt(chief *process) {
	next := w.ruin.known.draft()
	next.version = int(ring.Recovered(uint64(next.version)))
	next.removed = slices.Clone(next.removed)
	for slot := range next.members {
		m := &next.members[slot]
		n := &w.nodes[slot]
		switch {
		case !m.in:
		case slices.Contains(w.ruin.left, slot) && n.disk != nil && n.disk.id == m.id:
			m.draining = false
		default:
			next.removed = append(next.removed, m.id)
			*m = member{}
		}
	}
	w.placeAnew(next)
	w.count("forced recoveries")
	w.say(noKey, "%s recovers the cluster: %d are left", chief.name, next.size())
	w.ruin = nil
	w.raft.state, w.raft.past = next, []*agreed{next}
	for i := range w.nodes {
		if p := w.nodes[i].proc; p != nil {
			p.after(us, p.learn)
		}
	}
}

// placeAnew gives partitions the replica sets and epochs with which they begin again.
func (w *World) placeAnew(next *agreed) {
	members := next.staying()
	var current [][]ring.NodeID
	for _, place := range next.places {
		current = append(current, place.Replicas)
	}
	sets, err := ring.Assign(current, members, w.partitions, ring.Replication(len(members), w.scenario.wanted))
	if err != nil {
		panic(err)
	}
	for i := range next.places {
		place := &next.places[i]
		known := w.knownEpoch(ring.Partition(i), place)
		if w.variant.recounts && next.present(place.Replicas) >= ring.Enough(len(place.Replicas)) {
			if next.present(place.Target) < len(place.Target) {
				place.Target = nil
			}
			continue
		}
		w.count("partitions restarted without registers")
		*place = ring.Place{Epoch: ring.Recovered(known), Replicas: sets[i], Floored: true}
	}
}

// knownEpoch is the highest epoch of a partition that a remaining node knows.
func (w *World) knownEpoch(p ring.Partition, place *ring.Place) uint64 {
	known := place.Epoch
	if len(place.Next) > 0 {
		known++
	}
	for _, slot := range w.ruin.left {
		if d := w.nodes[slot].disk; d != nil {
			known = max(known, d.parts[p].Epoch, d.parts[p].Installed)
		}
	}
	return known
}

// begun enters an epoch that a recovery began, with a floor beyond all clocks that are heard.
func (p *process) begun(i ring.Partition, place ring.Place, done func()) {
	floor := max(p.read(), p.clocks.highest(p.read())) + p.w.bounds.EpsMax
	p.store.change(i, func(part register.Partition) (register.Partition, bool) {
		p.store.copying[i] = copyingNothing
		return part.EnterFloored(place.Epoch, floor)
	}, func(ok bool) {
		defer done()
		if !ok {
			return
		}
		p.w.count("floors set")
		p.w.count("epochs of a recovery entered")
		p.w.say(noKey, "%s enters epoch %d of partition %d, which a forced recovery started, with a floor at %s", p.name, place.Epoch, i, p.w.clockTime(floor))
	})
}

// fill makes a disk full for a while: the next write ends the process, some of it may be on the disk, and the node does not
// start before there is room again.
func (w *World) fill(n *node, i *item) {
	n.full++
	slot := n.slot
	if p := n.proc; p.store.doom == nil {
		p.store.doom = func() {
			if n.full > 0 {
				d := throw(w.seed, forFault, i.id, uint64(slot))
				w.count("processes ended by a full disk")
				w.crash(slot, &d)
			}
		}
	}
	w.after(i.last, func() {
		if n.full--; n.full == 0 {
			w.restartAfter(slot, us, 0)
		}
	})
}

// floorsAhead says whether an epoch that a recovery began is to be entered here, with a floor.
func (p *process) floorsAhead() bool {
	return slices.ContainsFunc(p.latest.places, func(place ring.Place) bool { return place.Floored && place.Has(p.me) })
}
