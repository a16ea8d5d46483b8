package simulation

import "time"

// drawWaits lets limits that spend a line have checks that wait, with a die of its own, so that all else is as it was.
func (s *scenario) drawWaits() {
	d := throw(s.seed, forWaiting)
	if s.theme == tardy || s.theme != queueing && !d.percent(40) {
		return
	}
	for _, l := range s.limits[:s.lines()] {
		longest := pick(&d, 0, 200*ms, second, 3*second, 10*second, 30*second)
		if s.theme == queueing {
			longest = 30 * second
		}
		for i, r := range l.rules {
			changed := r.Limit
			changed.MaxWait = time.Duration(longest)
			l.rules[i] = mustRule(changed)
			if d.percent(20) {
				longest = pick(&d, 0, second, 30*second)
			}
		}
	}
}

// drawQueues makes limits of few tokens, for which many checks wait.
func (s *scenario) drawQueues(d *die) {
	for l := range s.limits {
		for i, r := range s.limits[l].rules {
			s.limits[l].rules[i] = newRule(r.Name, d.between(1, 5), 1, pick(d, 200*ms, second, 3*second))
		}
	}
}

// longest is how long checks of these limits may wait, by their first versions.
func (s *scenario) longest(limits []int) int64 {
	longest := int64(s.limits[limits[0]].rules[0].MaxWait)
	for _, l := range limits {
		longest = min(longest, int64(s.limits[l].rules[0].MaxWait))
	}
	return longest
}

// mostQueued bounds the checks of queues in one scenario.
const mostQueued = 3000

// queues plans what is asked of limits whose checks wait: waves of more than they admit.
func (p *planner) queues() {
	d := throw(p.seed, forWaiting, 1)
	q := &planner{scenario: p.scenario, die: &d, ids: p.ids}
	left := mostQueued
	if p.theme == queueing {
		left *= 3
	}
	for ; left > 0; left -= 20 { // so that there is an end where no limit has waits
		l := &loader{planner: q, key: int(d.below(int64(p.honest()))), of: pick(&d, byTable, byTable, byChance, byRivals)}
		if p.exact {
			l.of = byTable
		}
		c := wanted{limits: []int{int(d.below(int64(p.lines())))}}
		longest := p.longest(c.limits)
		if longest == 0 {
			continue
		}
		rule := p.limits[c.limits[0]].rules[0]
		gap := max(rule.Length(1).NS/d.between(1, 4), ms)
		at := d.below(p.duration)
		for end := min(at+d.between(longest, 4*longest), p.duration); at < end && left > 0; at += d.between(0, 2*gap) {
			one := c
			one.cost = d.between(1, min(3, rule.Capacity))
			if other := int(d.below(int64(p.lines()))); other != c.limits[0] {
				one.limits = []int{c.limits[0], other}
			}
			l.call(at, one)
			left--
		}
	}
	p.ids = q.ids
}

// waits lets callers wait, as long as the first version of their limits allows, and leave before or after they could begin.
func (p *planner) waits() {
	for i := range p.items {
		c := p.items[i].call
		if c == nil || c.what != checks || c.cost == 0 {
			continue
		}
		longest, d := p.longest(c.limits), throw(p.seed, forWaiting, p.items[i].id)
		if longest == 0 || d.percent(30) {
			continue
		}
		c.delay = pick(&d, longest, d.spread(ms, longest))
		if d.percent(40) && !p.exact {
			p.plan(p.items[i].at+d.spread(ms, 2*c.delay), item{kind: asksFor, call: &wanted{
				what: gives, of: p.items[i].id, key: c.key, order: c.order, wait: c.wait, silent: c.silent,
			}})
		}
	}
}
