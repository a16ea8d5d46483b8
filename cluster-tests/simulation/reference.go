package simulation

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// A reference is a token bucket for every bucket, in one place that never fails: where a world has no faults and callers go
// by the table, each decision must be the same as the reference's.
type reference struct {
	w      *World
	spent  []limit.Pos // by bucket: its TAT
	rounds []int64     // how often a bucket may have been rounded up to a nanosecond
}

// A verdict is what the reference says to a check: unless it is near, which way the decision must be.
type verdict struct {
	allowed, near bool
}

func newReference(w *World) *reference {
	n := len(w.keys) * len(w.limits)
	return &reference{w: w, spent: make([]limit.Pos, n), rounds: make([]int64, n)}
}

// asked decides a check as it comes to its owner.
func (r *reference) asked(c *call, q *ask) *verdict {
	v := &verdict{allowed: true}
	for i, l := range c.limits {
		b, rule := r.w.bucket(c.key, l), q.rules[i]
		length := rule.Length(c.cost)
		end, bound := rule.End(r.spent[b], q.reading, length), rule.Bound(q.reading)
		v.allowed = v.allowed && !end.After(bound) && c.cost <= rule.Capacity
		if off := end.NS - bound.NS; max(off, -off) <= r.rounds[b]+1 {
			v.near = true // the owner's may have been rounded up, when it was forgotten and came back
		}
		r.rounds[b]++
	}
	for i, l := range c.limits {
		b, rule := r.w.bucket(c.key, l), q.rules[i]
		if v.allowed && c.cost > 0 {
			r.spent[b] = rule.End(r.spent[b], q.reading, rule.Length(c.cost))
		}
		if r.spent[b].NS < q.reading {
			r.rounds[b] = 0
		}
	}
	return v
}

// compare holds an owner's decision against the reference's.
func (r *reference) compare(p *process, q *ask, d limit.Decision) {
	w := r.w
	w.counts["decisions compared with a bucket that never fails"]++
	switch {
	case d.Allowed == q.exact.allowed:
	case q.exact.near:
		w.count("decisions too close to compare")
		r.forget(q.call, d.Allowed)
	default:
		w.violate(q.call.key, "%s decides %s with allowed = %v; a bucket that never fails has allowed = %v", p.name, q.call, d.Allowed, q.exact.allowed)
	}
}

// forget makes the reference follow what was decided where it may have been either.
func (r *reference) forget(c *call, allowed bool) {
	for _, l := range c.limits {
		b, rule := r.w.bucket(c.key, l), r.w.limits[l].rules[0]
		if length := rule.Length(c.cost); allowed {
			r.spent[b] = rule.Add(r.spent[b], length)
		} else {
			r.spent[b] = rule.Sub(r.spent[b], length)
		}
	}
}
