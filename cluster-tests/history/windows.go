package history

import (
	"cmp"
	"slices"
)

// windows finds a window of time in which more was admitted than the capacity and what was refilled meanwhile, counting
// only checks that lie wholly inside it, from when to when their callers may have begun. It looks at every window, and needs no receipts.
//
// What may have been returned in a window may be admitted once more in it; a return that failed may happen at any later
// time. A reset may add a whole bucket to a window that it lies in, and what an owner had reserved by then
// (see [Ahead]), as far as that line is not yet past, to a window that begins after it; one that failed may still happen
// at any later time. Where receipts tell the generations apart, each generation alone must keep to the bound without that.
// A clock that was made wrong may add what its node held to a window that has a part of that time.
// From a change of a limit on, the new one counts; checks that may have been decided under both count in no window.
func windows(v *view, r *Result) {
	r.Things = "checks"
	for _, b := range v.of(TokenBucket) {
		admitted, left := b.begun()
		counted := 0
		for i := range b.versions {
			s := v.sweep(b, &b.versions[i], admitted, left)
			counted += len(s.admitted)
			asked := len(s.admitted)
			beyond := s.hold(v, b)
			r.Checked += len(s.admitted) - asked
			s.run(v, r, b)
			if len(s.resets) > 0 {
				v.generations(r, b, s)
			}
			if len(beyond) > 0 {
				s.admitted, s.debt = append(s.admitted, beyond...), b.debt()
				s.run(v, r, b)
			}
		}
		r.Checked += counted
		r.Unknown += len(admitted) - counted
	}
}

// A sweep is what windows looks at together: calls of one bucket while one limit was in force.
type sweep struct {
	terms    *terms
	admitted []*Call
	returns  []*Call
	resets   []*Call
	clocks   []Fault // that let what a node holds be spent at a wrong time
	spare    int     // resets that may have happened in addition, because one call tried again
	freed    []event // what may come back of holds
	debt     int64   // tokens that may be charged beyond the capacity
	until    int64   // another limit was in force from then on
}

func (v *view) sweep(b *bucket, t *terms, admitted []*Call, left map[issue]bool) sweep {
	until := int64(forever)
	if i := slices.IndexFunc(b.versions, func(o terms) bool { return o.from > t.from }); i >= 0 {
		until = b.versions[i].from
	}
	s := sweep{terms: t, clocks: v.clocks, returns: b.only(KindReturn, Taken, Failed), resets: b.only(KindReset, Done, Failed), until: until}
	s.returns = slices.DeleteFunc(s.returns, func(c *Call) bool { return left[c.Receipt.issue()] })
	seen := map[int64]bool{}
	for _, c := range admitted {
		if c.Start-c.Wait >= t.sure && c.End < until {
			s.admitted = append(s.admitted, c)
		}
		if c.Receipt != nil {
			seen[c.Receipt.Generation] = true
		}
	}
	if len(s.resets) > 0 {
		s.spare = max(0, len(seen)-1-len(s.resets))
	}
	return s
}

// hold takes the holds of the bucket into the sweep, and hands over what settlements charge beyond.
func (s *sweep) hold(v *view, b *bucket) (beyond []*Call) {
	for _, t := range b.tabs() {
		if t.hold.Start < s.terms.sure || t.hold.End >= s.until {
			continue
		}
		k := t.charge(b, v.epsilon)
		s.admitted = append(s.admitted, t.hold)
		if back := t.hold.Cost - k.least; back > 0 {
			s.freed = append(s.freed, event{k.falls, k.fallen, wide{}.minus(s.terms.line(back)), nil})
		}
		if k.more > 0 {
			beyond = append(beyond, k.by)
		}
	}
	return beyond
}

// generations looks at each generation alone.
func (v *view) generations(r *Result, b *bucket, s sweep) {
	alone := map[int64]*sweep{}
	var order []int64
	for _, c := range receipts(slices.Clone(s.admitted)) {
		g := c.Receipt.Generation
		if alone[g] == nil {
			alone[g] = &sweep{terms: s.terms, clocks: s.clocks}
			order = append(order, g)
		}
		alone[g].admitted = append(alone[g].admitted, c)
	}
	for _, c := range s.returns {
		if one := alone[c.Receipt.Generation]; one != nil {
			one.returns = append(one.returns, c)
		}
	}
	for _, g := range order {
		alone[g].run(v, r, b)
	}
}

// An event changes what windows may hold, from a time on.
type event struct {
	at     int64
	latest int64 // of windows that begin no later
	amount wide
	check  *Call // nil for what allows more
}

// run finds the worst window. Windows that end at one time are looked at together, one time after the other.
func (s *sweep) run(v *view, r *Result, b *bucket) {
	if len(s.admitted) == 0 {
		return
	}
	t := s.terms
	w := newTree(t, s.admitted)
	for _, reset := range s.resets {
		if reset.Outcome == Done {
			w.allow(reset.End, func(start int64) wide { return s.left(v, b, reset, start) })
		}
	}
	for _, e := range s.events(v, b) {
		w.add(e.latest, e.amount)
		if e.check == nil {
			continue
		}
		w.begin(e.check.Start)
		start, worst := w.worst()
		over := worst.minus(product(e.at-w.base+2*v.epsilon, t.n)).minus(t.line(t.Capacity + s.debt))
		if over.positive() {
			v.found(r, b, s.shown(start, e.at), "in the %s from %s on, %.3f tokens too many were admitted",
				seconds(e.at-start), relative(start, v.start), over.over(t.p))
			return
		}
	}
}

// events are the checks by their ends, and what allows more by its start, which comes first.
func (s *sweep) events(v *view, b *bucket) []event {
	t := s.terms
	all := slices.Clone(s.freed)
	for _, c := range s.admitted {
		all = append(all, event{c.End, c.Start, t.line(c.Cost), c})
	}
	for _, c := range s.returns {
		latest := c.End
		if c.Outcome == Failed {
			latest = forever
		}
		all = append(all, event{c.Start, latest, wide{}.minus(t.returned(c)), nil})
	}
	for _, f := range s.clocks {
		all = append(all, event{f.Start, f.End, wide{}.minus(product(f.Held, t.n)), nil})
	}
	for i, c := range s.resets {
		latest := c.End - 1
		if c.Outcome == Failed {
			latest = forever
		}
		all = append(all, event{c.Start, latest, wide{}.minus(s.whole(v, b, c)), nil})
		for range s.spare {
			if i == 0 {
				all = append(all, event{c.Start, forever, wide{}.minus(s.whole(v, b, c)), nil})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(order(a), order(b)))
	})
	return all
}

func order(e event) int {
	if e.check == nil {
		return 0
	}
	return 1
}

// whole is what a reset may add to a window in which it lies: a bucket, and what was reserved ahead.
func (s *sweep) whole(v *view, b *bucket, reset *Call) wide {
	return product(b.largest()+Ahead+2*v.epsilon+reset.End-reset.Start, s.terms.n)
}

// left is what a reset may add to a window that begins after it: what was reserved, as far as it is not yet past.
func (s *sweep) left(v *view, b *bucket, reset *Call, start int64) wide {
	return product(max(0, reset.End+b.largest()+Ahead+2*v.epsilon-start), s.terms.n)
}

// shown are calls of a window: the first and the last.
func (s *sweep) shown(start, end int64) []*Call {
	var inside []*Call
	for _, c := range s.admitted {
		if c.Start >= start && c.End <= end {
			inside = append(inside, c)
		}
	}
	if n := len(inside); n > 4 {
		inside = append(inside[:2], inside[n-2:]...)
	}
	return inside
}
