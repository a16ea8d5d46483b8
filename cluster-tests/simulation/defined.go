package simulation

import (
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// drawDefined has requests define some of the limits, with a die of its own, so that all else is as it was.
func (s *scenario) drawDefined() {
	s.defined = make([]bool, len(s.limits))
	d, stored := throw(s.seed, forDefined), new(limit.Document)
	if !d.percent(30) {
		return
	}
	for l := range s.limits {
		if len(s.limits[l].others) > 0 || s.leased[l] || !d.percent(60) {
			continue
		}
		s.defined[l] = true
		for version, r := range s.limits[l].rules {
			one := r.Limit
			if one.Holds.Longest > 0 {
				one.Holds.MaxDebt = limit.NoDebt // callers invent limits, and owe what they say
			}
			rule, err := stored.Resolve(limit.Inline(one))
			if err != nil {
				panic(fmt.Sprintf("simulation: a definition that cannot be: %v", err))
			}
			s.limits[l].rules[version] = rule
		}
	}
	if s.invented > 0 && d.percent(60) {
		s.shelf = s.honest()*len(s.limits) + int(d.below(int64(s.invented)))
	}
}

// late is how much later than nodes a caller or an edge hears of a change at most. Until then it goes by what was before.
const late = 30 * second

// definitions says by which version each call defines its limits.
func (p *planner) definitions() {
	for _, i := range p.items {
		if c := i.call; c != nil && slices.ContainsFunc(c.limits, func(l int) bool { return p.defined[l] }) {
			d := throw(p.seed, forDefined, i.id)
			c.version = p.versionAt(i.at - pick(&d, 0, d.below(late)))
		}
	}
}

// versionAt is the version of the limits that was planned last at a time.
func (p *planner) versionAt(at int64) (version int) {
	latest := int64(-1)
	for _, i := range p.changes {
		if i.at <= at && i.at >= latest {
			version, latest = int(i.value), i.at
		}
	}
	return version
}
