package simulation

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// longestHold is how long holds last at most.
const longestHold = minute

// drawHolding adds limits that take holds, with a die of its own, so that all else is as it was: short ones, whose owner alone knows of its
// holds, and others, of which the ledger tells.
func (s *scenario) drawHolding() {
	d := throw(s.seed, forHolding)
	if s.theme == tardy || !d.percent(40) {
		return
	}
	s.holding = int(1 + d.below(2))
	for i := range s.holding {
		one := drawHolder(&d, fmt.Sprintf("%s%d", holderName, i))
		one.Holds = limit.Holds{Longest: time.Duration(longestHold), OnExpiry: pick(&d, limit.Charge, limit.Free, limit.Free)}
		l := limits{name: one.Name}
		for range len(s.limits[0].rules) {
			if len(l.rules) == 0 || d.percent(20) {
				one.Holds.MaxDebt = pick(&d, 0, limit.NoDebt, max(1, one.Capacity/10))
			}
			l.rules = append(l.rules, mustRule(one))
		}
		s.limits = append(s.limits, l)
		s.plain = append(s.plain, d.percent(40))
	}
}

// drawHolder draws a limit that can take holds.
func drawHolder(d *die, name string) limit.Limit {
	one := limit.Limit{Name: name, Algorithm: limit.TokenBucket, Capacity: pick(d, int64(5), 20, 100, 1000, 100_000)}
	window := func(algorithm string, lengths ...time.Duration) {
		one.Algorithm, one.Window = algorithm, pick(d, lengths...)
	}
	switch d.below(6) {
	case 0: // full again soon
		one.Refill = limit.Refill{Tokens: one.Capacity, Per: time.Duration(pick(d, 2*second, 10*second, minute))}
	case 1: // and slowly
		one.Refill = limit.Refill{Tokens: one.Capacity, Per: time.Duration(pick(d, 11*minute, hour, 24*hour))}
	case 2:
		window(limit.FixedWindow, 10*time.Second, time.Minute)
	case 3:
		window(limit.FixedWindow, time.Hour, 720*time.Hour)
	case 4:
		window(limit.SlidingWindow, 30*time.Second, 20*time.Minute)
	default:
		window(limit.SlidingLog, 30*time.Second, 20*time.Minute)
		one.Capacity = min(one.Capacity, 300)
	}
	return one
}

// takesHolds says whether a limit does: the last ones do.
func (s *scenario) takesHolds(limit int) bool { return limit >= len(s.limits)-s.holding }

// mostHeld bounds the holds of one scenario.
const mostHeld = 500

// holds plans the holds that callers take, in waves of about as much as there is, or of more, and what they settle.
func (p *planner) holds() {
	if p.holding == 0 {
		return
	}
	d := throw(p.seed, forHolding, 1)
	q := &planner{scenario: p.scenario, die: &d, ids: p.ids}
	left := mostHeld
	for left > 0 {
		l := &loader{planner: q, key: int(d.below(int64(p.honest()))), of: pick(&d, byTable, byTable, byChance, byRivals)}
		if p.exact {
			l.of = byTable
		}
		first := len(p.limits) - p.holding
		at := first + int(d.below(int64(p.holding)))
		limits := []int{at}
		if p.holding > 1 && d.percent(20) {
			limits = []int{first, first + 1}
		}
		begin, parts := d.below(p.duration), d.between(2, 20)
		for end := min(begin+d.spread(second, 2*minute), p.duration); begin < end && left > 0; begin += d.spread(ms, 5*second) {
			cost := d.between(1, max(1, 2*p.limits[at].rules[0].Capacity/parts))
			if len(limits) == 1 && p.plain[at-first] && d.percent(20) {
				l.call(begin, wanted{cost: cost, limits: limits})
				continue
			}
			l.hold(begin, cost, limits)
			left--
		}
		if d.percent(4) && !p.exact {
			l.call(begin, wanted{what: resets, limits: []int{at}})
		}
		left -= 10 // so that waves of few holds have an end
	}
	p.ids = q.ids
}

// hold plans one hold, and what its caller says of it: in parts, repeatedly, late, or nothing.
func (l *loader) hold(at, cost int64, limits []int) {
	d := l.die
	c := wanted{cost: cost, limits: limits, hold: pick(d, second, 3*second, 20*second, longestHold)}
	if d.percent(30) {
		c.least = d.between(1, cost)
	}
	id := l.call(at, c)
	if d.percent(15) { // its caller dies
		return
	}
	final := at + d.spread(ms, 2*c.hold)
	if d.percent(10) {
		final = at + c.hold + d.spread(second, 11*minute)
	}
	for d.percent(30) {
		part := wanted{what: settles, of: id, open: true, share: d.between(0, 120)}
		if d.percent(60) {
			part.hold = pick(d, second, 10*second, longestHold)
		}
		l.call(d.between(at+ms, final), part)
	}
	one := wanted{what: settles, of: id, share: pick(d, int64(0), 50, 90, 100, 100, 110, 150, 200)}
	l.call(final, one)
	for d.percent(30) {
		if d.percent(10) { // which changes nothing
			one.share = d.between(0, 200)
		}
		final += d.spread(ms, minute)
		l.call(final, one)
	}
}
