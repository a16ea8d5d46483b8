package simulation

import "github.com/jeton-dev/jeton/actor/limit"

// drawLeasing has edges lease some of the limits that spend a line, with a die of its own, so that all else is as it was.
func (s *scenario) drawLeasing() {
	d := throw(s.seed, forLeasing)
	s.leased = make([]bool, len(s.limits))
	if s.exact || s.theme == tardy || !d.percent(40) {
		return
	}
	for range d.between(1, 3) {
		off := s.epsilon - s.grain
		s.edges = append(s.edges, d.between(-off, off))
	}
	for l := range s.lines() {
		if !d.percent(70) {
			continue
		}
		s.leased[l] = true
		for version, r := range s.limits[l].rules {
			changed := r.Limit
			changed.Consistency = limit.Leased
			s.limits[l].rules[version] = mustRule(changed)
		}
	}
}

// mostLeased bounds the checks of edges in one scenario.
const mostLeased = 4000

// leases plans what edges are asked: waves of about as much as a limit admits, or of more. An edge may be killed meanwhile.
func (p *planner) leases() {
	d := throw(p.seed, forLeasing, 1)
	q := &planner{scenario: p.scenario, die: &d, ids: p.ids}
	for left := mostLeased; len(p.edges) > 0 && left > 0; left -= 20 { // so that there is an end where no limit is leased
		of := int(d.below(int64(p.lines())))
		if !p.leased[of] {
			continue
		}
		c := wanted{what: spends, key: int(d.below(int64(p.honest()))), limits: []int{of}, edge: int(d.below(int64(len(p.edges))))}
		rule := p.limits[of].rules[0]
		gap := max(rule.Length(1).NS/d.between(1, 6), ms)
		at := d.below(p.duration)
		for end := min(at+d.spread(second, minute), p.duration); at < end && left > 0; at += d.between(0, 2*gap) {
			one := c
			one.cost = pick(&d, 1, 1, 1, d.between(1, min(rule.Capacity, 5)))
			q.plan(at, item{kind: asksFor, call: &one})
			left--
		}
		if d.percent(20) {
			q.plan(at-d.spread(ms, 5*second), item{kind: asksFor, call: &wanted{what: kills, edge: c.edge}})
		}
	}
	p.ids = q.ids
}
