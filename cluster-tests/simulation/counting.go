package simulation

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// drawCounting adds limits that count entries, with a die of its own, so that all else is as it was.
func (s *scenario) drawCounting() {
	d := throw(s.seed, forCounting)
	if s.exact || s.theme == tardy || !d.percent(40) {
		return
	}
	s.counting = int(1 + d.below(2))
	for i := range s.counting {
		one := limit.Limit{
			Name:      fmt.Sprintf("counted-%d", i),
			Algorithm: pick(&d, limit.SlidingWindow, limit.SlidingWindow, limit.SlidingLog, limit.Concurrency, limit.Concurrency),
			Capacity:  pick(&d, int64(1), 2, 3, 5, 20, 300),
		}
		length := time.Duration(pick(&d, 2*second, 5*second, 30*second))
		if one.Algorithm == limit.Concurrency {
			one.Lease = length
		} else {
			one.Window = length
		}
		one.Weighted = one.Algorithm == limit.SlidingWindow && d.percent(30)
		l := limits{name: one.Name}
		for range len(s.limits[0].rules) {
			l.rules = append(l.rules, mustRule(one))
			if d.percent(20) {
				one.Capacity = min(max(1, one.Capacity*pick(&d, int64(1), 2, 3)/2), mostListed)
			}
		}
		s.limits = append(s.limits, l)
	}
}

// mostListed is no more permits, and no more entries of a log, than there can be.
const mostListed = 500

// mostCounted bounds the checks of limits that count entries in one scenario.
const mostCounted = 4000

// counts plans what is asked of limits that count entries: waves of about as much as they admit, or of more.
func (p *planner) counts() {
	if p.counting == 0 {
		return
	}
	d := throw(p.seed, forCounting, 1)
	q := &planner{scenario: p.scenario, die: &d, ids: p.ids}
	left := mostCounted
	for left > 0 {
		l := &loader{planner: q, key: int(d.below(int64(p.honest()))), of: pick(&d, byTable, byTable, byChance, byRivals)}
		at := p.lines() + int(d.below(int64(p.counting)))
		rule := p.limits[at].rules[0]
		length := int64(rule.Fill())
		gap := max(length/rule.Capacity/d.between(1, 4), ms)
		begin := d.below(p.duration)
		for end := min(begin+d.between(length, 4*length), p.duration); begin < end && left > 0; begin += d.between(0, 2*gap) {
			l.count(begin, at, rule)
			left--
		}
		if d.percent(10) && !rule.Permits() {
			l.call(begin, wanted{what: resets, limits: []int{at}})
		}
		left -= 20 // so that waves of few checks have an end
	}
	p.ids = q.ids
}

// count plans one check of a limit that counts entries, and what its caller does if it is admitted.
func (l *loader) count(at int64, counted int, rule *limit.Rule) {
	d, length := l.die, int64(rule.Fill())
	c := wanted{cost: 1, limits: []int{counted}}
	if d.percent(20) {
		c.cost = d.between(0, min(3, rule.Capacity))
	}
	if d.percent(10) {
		c.limits = []int{0, counted}
		if d.percent(50) { // what the one that is asked first takes may be in vain
			c.limits = []int{counted, 0}
		}
	}
	id := l.call(at, c)
	for d.percent(30) && rule.Permits() && len(c.limits) == 1 {
		at += d.between(0, length)
		l.call(at, wanted{what: extends, of: id, limits: c.limits, cost: c.cost})
	}
	if d.percent(30) {
		l.call(at+d.spread(ms, length), wanted{what: gives, of: id})
	}
}

// permit is the permit that is to be extended, 0 for none.
func (c *call) permit() uint64 {
	if c.what != extends {
		return 0
	}
	return c.receipts[0].Serial
}
