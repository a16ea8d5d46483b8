package simulation

import "slices"

// late plans what came into the mix later, by a die of its own: disks that are full and, in a ruinous scenario, members lost for
// ever, mostly while the remaining nodes have not heard what the others agree on.
func (p *planner) late() {
	die := throw(p.seed, forRuin)
	q := &planner{scenario: p.scenario, die: &die, ids: p.ids}
	if perHour := level(q.die, 2, 20); perHour > 0 && p.theme != tardy {
		for at := q.die.below(2 * hour / perHour); at < p.duration; at += q.die.below(2 * hour / perHour) {
			q.plan(at, item{kind: fills, slot: int(q.die.below(int64(max(p.founders, 3)))), last: q.die.spread(10*ms, minute)})
		}
	}
	if p.theme == ruinous {
		q.ruins()
	}
	p.ids = q.ids
}

// ruinsEvery is how far the losses of a majority lie apart, on average.
const ruinsEvery = 5 * minute

// ruins plans them. All clocks are right then: one node may be all that is left, and a floor is as late as its clock.
func (p *planner) ruins() {
	d := p.die
	p.items = slices.DeleteFunc(p.items, func(i item) bool { return i.kind == jumps || i.kind == drifts || i.kind == suspends })
	for i := range p.items {
		if p.items[i].kind == crashes {
			p.items[i].value = 0
		}
	}
	for at := d.below(ruinsEvery); at < p.duration; at += d.between(minute, 2*ruinsEvery) {
		left := uint(d.between(1, 1<<maxSlots-1))
		before := d.spread(second, 30*second)
		if d.percent(80) {
			p.plan(max(0, at-before), item{kind: deafens, slot: int(d.below(maxSlots)), mask: left, last: before + second})
		}
		if d.percent(80) { // the others move on without them
			p.plan(max(0, at-d.between(0, before)), item{kind: joins, mask: p.members()})
		}
		p.plan(at, item{kind: ruins, mask: left, last: d.spread(10*ms, 20*second)})
		p.plan(at+d.spread(10*second, 2*minute), item{kind: joins, mask: p.members()})
	}
}
