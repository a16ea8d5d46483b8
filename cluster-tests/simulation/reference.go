package simulation

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// A reference is a token bucket for every bucket, in one place that never fails: where a world has no faults and callers go
// by the table, each decision must be the same as the reference's.
type reference struct {
	w      *World
	spent  []limit.Pos   // by bucket: its TAT
	rounds []int64       // how often a bucket may have been rounded up to a nanosecond
	rules  []*limit.Rule // by which a position was told last
}

// A verdict is what the reference says to a check: unless it is near, which way the decision must be.
type verdict struct {
	allowed, near bool
	begins        int64 // clock reading at which it begins, if it is allowed
	rounds        int64 // by so much more the owner may differ
}

func newReference(w *World) *reference {
	n := len(w.keys) * len(w.limits)
	return &reference{w: w, spent: make([]limit.Pos, n), rounds: make([]int64, n), rules: make([]*limit.Rule, n)}
}

// asked decides a check as it comes to its owner.
func (r *reference) asked(c *call, q *ask) *verdict {
	v := &verdict{allowed: true}
	latest := q.reading + c.delay
	for i, l := range c.limits {
		b, rule := r.w.bucket(c.key, l), q.rules[i]
		if before := r.rules[b]; before != nil && before != rule {
			r.spent[b] = rule.Carry(before, r.spent[b])
		}
		r.rules[b] = rule
		length := rule.Length(c.cost)
		end, bound := rule.End(r.spent[b], latest, length), rule.Bound(latest)
		v.allowed = v.allowed && !end.After(bound) && c.cost <= rule.Capacity
		if off := end.NS - bound.NS; max(off, -off) <= r.rounds[b]+1 {
			v.near = true // the owner's may have been rounded up, when it was forgotten and came back
		}
		r.rounds[b]++
		v.rounds = max(v.rounds, r.rounds[b])
	}
	if v.allowed {
		v.begins = r.begins(c, q)
	}
	for i, l := range c.limits {
		b, rule := r.w.bucket(c.key, l), q.rules[i]
		if v.allowed && c.cost > 0 {
			r.spent[b] = rule.End(r.spent[b], v.begins, rule.Length(c.cost))
		}
		if r.spent[b].NS < q.reading {
			r.rounds[b] = 0
		}
	}
	return v
}

// begins is the first clock reading at which all buckets admit a check.
func (r *reference) begins(c *call, q *ask) int64 {
	at := q.reading
	for {
		next := at
		for i, l := range c.limits {
			next = max(next, q.rules[i].Start(r.spent[r.w.bucket(c.key, l)], at, q.rules[i].Length(c.cost)))
		}
		if next == at {
			return at
		}
		at = next
	}
}

// compare holds an owner's decision against the reference's.
func (r *reference) compare(p *process, q *ask, d limit.Decision) {
	w := r.w
	w.counts["decisions compared with a bucket that never fails"]++
	switch {
	case d.Allowed && q.exact.allowed:
		if off := q.reading + int64(d.Wait) - q.exact.begins; max(off, -off) > q.exact.rounds {
			w.violate(q.call.key, "%s decides %s to begin at %s; in a bucket that never fails it begins at %s", p.name, q.call,
				w.clockTime(q.reading+int64(d.Wait)), w.clockTime(q.exact.begins))
		}
	case d.Allowed == q.exact.allowed:
	case q.exact.near:
		w.count("decisions too close to compare")
		r.forget(q, d)
	default:
		w.violate(q.call.key, "%s decides %s with allowed = %v; a bucket that never fails has allowed = %v", p.name, q.call, d.Allowed, q.exact.allowed)
	}
}

// forget makes the reference follow what was decided where it may have been either.
func (r *reference) forget(q *ask, d limit.Decision) {
	for i, l := range q.call.limits {
		b, rule := r.w.bucket(q.call.key, l), q.rules[i]
		if length := rule.Length(q.call.cost); d.Allowed {
			r.spent[b] = rule.End(r.spent[b], q.reading+int64(d.Wait), length)
		} else {
			r.spent[b] = rule.Sub(r.spent[b], length)
		}
	}
}
