package simulation

// flood has callers ask once for every invented key, within the time of the item.
func (w *World) flood(i *item) {
	d := throw(w.seed, forFlood, i.id)
	for k := w.honest(); k < len(w.keys); k++ {
		c := &call{
			id: 1<<41 + i.id<<12 + uint64(k), what: checks, order: byChance, key: k, limits: []int{int(d.below(int64(w.lines())))},
			cost: 1, until: w.now + i.last + second, silent: 200 * ms,
		}
		w.after(d.below(i.last), func() { w.begin(c) })
	}
}
