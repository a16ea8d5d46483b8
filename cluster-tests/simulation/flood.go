package simulation

// flood has callers ask once for every invented key, within the time of the item.
func (w *World) flood(i *item) {
	d := throw(w.seed, forFlood, i.id)
	for k := w.honest(); k < len(w.keys); k++ {
		c := &call{
			id: 1<<41 + i.id<<12 + uint64(k), what: checks, order: byChance, key: k, limits: []int{int(d.below(int64(len(w.limits))))},
			cost: 1, until: w.now + i.last + second, silent: 200 * ms,
		}
		w.after(d.below(i.last), func() { w.begin(c) })
	}
}

// makeRoom forgets a key when too many are awake: of those for which nobody waits, the one that was asked for longest ago,
// whatever it holds. It says whether there is room for one more.
func (p *process) makeRoom() bool {
	if p.w.room == 0 || p.awake < p.w.room {
		return true
	}
	var oldest *actor
	for _, a := range p.actors {
		if a != nil && a.owner.Waiting() == 0 && (oldest == nil || a.last < oldest.last) {
			oldest = a
		}
	}
	if oldest == nil {
		p.w.count("refused because too many keys are in memory")
		return false
	}
	p.w.count("keys evicted to free memory")
	p.w.say(oldest.key, "%s evicts %s to free memory", p.name, p.w.keys[oldest.key].name)
	p.forget(oldest)
	return true
}

// forget asserts that nothing is left of a flood when what it reserved has long passed.
func (w *World) forget() {
	if w.violation != nil || w.invented == 0 {
		return
	}
	last := int64(0)
	for l := range w.limits {
		for _, r := range w.limits[l].rules {
			last = max(last, r.Reach())
		}
	}
	w.run(w.now + last + w.bounds.Slack() + horizonLag + 2*sweepEvery)
	for slot := range w.nodes {
		p := w.nodes[slot].proc
		if p == nil || !p.joined {
			continue
		}
		for k := w.honest(); k < len(w.keys); k++ {
			for l := range w.limits {
				if p.store.cells[w.bucket(k, l)].exists {
					w.violate(k, "%s keeps the register of %s, although no caller has asked for it for %s", p.name, w.bucketName(k, l), seconds(w.now-w.healed))
				}
			}
		}
	}
	w.count("floods that left no registers")
}
