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

// leases plans what is asked of limits that edges lease: waves of about as much as they admit, or of more, some of it asked of the owner. An edge may
// be killed meanwhile, or its clock jump.
func (p *planner) leases() {
	d := throw(p.seed, forLeasing, 1)
	q := &planner{scenario: p.scenario, die: &d, ids: p.ids, changes: p.changes}
	for left := mostLeased; len(p.edges) > 0 && left > 0; left -= 20 { // so that there is an end where no limit is leased
		of := int(d.below(int64(p.lines())))
		if !p.leased[of] {
			continue
		}
		key, edge := int(d.below(int64(p.honest()))), int(d.below(int64(len(p.edges))))
		l := &loader{planner: q, key: key, of: pick(&d, byTable, byTable, byChance)}
		rule := p.limits[of].rules[0]
		gap := max(rule.Length(1).NS/d.between(1, 6), ms)
		begin := d.below(p.duration)
		at := begin
		for end := min(at+d.spread(second, minute), p.duration); at < end && left > 0; at += d.between(0, 2*gap) {
			l.leased(at, edge, wanted{key: key, limits: []int{of}, cost: pick(&d, 1, 1, 1, d.between(1, min(rule.Capacity, 5)))})
			left--
		}
		if d.percent(20) {
			q.plan(d.between(begin, at), item{kind: asksFor, call: &wanted{what: kills, key: key, edge: edge}})
		}
		if d.percent(10) {
			l.shift(d.between(begin, at), edge)
		}
	}
	p.ids = q.ids
}

// leased plans one check: by an edge, or by the owner.
func (l *loader) leased(at int64, edge int, c wanted) {
	d := l.die
	if d.percent(20) {
		if id := l.call(at, c); d.percent(30) {
			l.call(at+d.spread(ms, 3*second), wanted{what: gives, of: id})
		}
		return
	}
	lag := throw(l.seed, forLeasing, 2, uint64(edge)) //nolint:gosec // an index
	c.what, c.edge, c.version = spends, edge, l.versionAt(at-lag.below(late))
	l.plan(at, item{kind: asksFor, call: &c})
}

// shift plans that the clock of an edge is wrong by seconds for a while.
func (l *loader) shift(at int64, edge int) {
	d := l.die
	right := l.edges[edge]
	wrong := right + d.between(2*second, 10*second)*pick(d, int64(1), -1)
	l.plan(at, item{kind: asksFor, call: &wanted{what: shifts, key: l.key, edge: edge, off: wrong}})
	l.plan(at+d.spread(second, minute), item{kind: asksFor, call: &wanted{what: shifts, key: l.key, edge: edge, off: right}})
}
