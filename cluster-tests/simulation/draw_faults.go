package simulation

import "slices"

// faults plans what goes wrong.
func (p *planner) faults() {
	calls := len(p.items)
	if p.theme == tardy {
		p.floors()
		return
	}
	defer p.late()
	for k := crashes; k < fills; k++ {
		if k == floods && p.invented == 0 {
			continue
		}
		if k == jumps || k == drifts || k == suspends {
			if p.founders < 3 || p.theme == queueing {
				continue // two nodes cannot tell which of their clocks is wrong
			}
		}
		low, hostile := often(k)
		perHour := level(p.die, low, hostile)
		if more := p.theme.more(k); more > 0 {
			perHour = more
		}
		if perHour == 0 {
			continue
		}
		gap := 2 * hour / perHour
		for at := p.die.below(gap); at < p.duration; at += p.die.below(gap) {
			if p.die.percent(40) {
				p.fault(at, k, 0)
				continue
			}
			// Something is going on then, and mostly it hits the node that is asked.
			c := &p.items[p.die.below(int64(calls))]
			when, owner := max(0, c.at+p.die.between(-1, 1)*p.die.spread(us, second)), c.call.key+1
			if p.die.percent(30) {
				owner = 0
			}
			p.fault(when, k, owner)
		}
	}
}

// floors plans what a tardy scenario has of faults: the replica that keeps its registers in memory is killed, and starts
// with a floor.
func (p *planner) floors() {
	slot := slices.Index(p.memory, true)
	for at := p.die.below(5 * minute); at < p.duration; at += p.die.spread(10*second, 10*minute) {
		p.plan(at, item{kind: crashes, slot: slot, last: p.die.spread(ms, second)})
	}
}

// often is how often in an hour something goes wrong, if it does a little and if it does very much.
func often(k kind) (low, hostile int64) {
	switch k {
	case crashes, freezes, splits, isolates, crashesMany:
		return 4, 80
	case joins, deafens, strands:
		return 2, 15
	case flaps, loses, restores, copies:
		return 2, 30
	case rules, drives:
		return 1, 8
	default:
		return 2, 20
	}
}

func (p *planner) fault(at int64, k kind, owner int) {
	d := p.die
	i := item{kind: k, owner: owner, slot: int(d.below(int64(max(p.founders, 3)))), last: d.spread(10*ms, 2*minute)}
	others := uint(d.below(1<<max(p.founders, 3))) &^ (1 << i.slot)
	switch k {
	case crashes:
		i.wait = d.percent(50)
		if d.percent(60) {
			i.last = d.spread(ms, 2*second)
		}
		if p.founders >= 3 && p.theme != queueing && d.percent(5) {
			i.value = pick(d, int64(-1), 1) * d.spread(100*ms, minute)
		}
	case crashesMany, splits, splitsOneWay, deafens:
		i.mask, i.value, i.wait = others|1<<i.slot, d.below(2), d.percent(50)
	case flaps:
		i.last = d.spread(100*ms, 3*second)
	case strands: // mostly while the others move on without it
		i.last = d.spread(second, 20*second)
		if p.theme == stranding {
			i.last = d.spread(5*second, minute)
		}
		if d.percent(70) {
			p.plan(at+d.between(0, i.last/2), item{kind: joins, mask: p.members()&^(1<<i.slot) | others&6})
		}
	case restores: // mostly of a copy that was made not long before
		if d.percent(70) {
			before := d.spread(second, 10*minute)
			if d.percent(50) {
				before = d.spread(second, minute)
			}
			p.plan(max(0, at-before), item{kind: copies, slot: i.slot, owner: owner})
			if p.theme == forgetful && d.percent(70) { // and another one knows nothing of what was accepted since
				p.plan(max(0, at-before), item{kind: isolates, slot: int(d.below(int64(max(p.founders, 3)))), last: before})
			}
		}
	case jumps:
		i.value = d.spread(100*ms, minute)
	case drifts:
		i.value = pick(d, int64(-1), 1) * d.spread(100, 50_000)
	case joins:
		i.mask = p.members()
	case rules:
		i.value = d.below(int64(len(p.limits[0].rules)))
	case floods:
		i.last = d.spread(10*ms, 10*second)
	default:
	}
	p.plan(at, i)
}

// more is how often in an hour something goes wrong that a scenario is about.
func (t theme) more(k kind) int64 {
	switch {
	case t == nervous && k == flaps:
		return 400
	case t == stranding && k == strands:
		return 40
	case t == forgetful && k == restores:
		return 80
	case t == reforming && k == rules:
		return 120
	case t == crowded && k == floods:
		return 30
	case t == erring && (k == jumps || k == isolates):
		return 120
	}
	return 0
}
