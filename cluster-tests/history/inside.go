package history

import (
	"cmp"
	"slices"
)

// inside finds a time at which more permits were held than the limit has. A caller is certainly inside from the end of the call
// that admitted it, until the first of these: the beginning of the call that returns the permit, whatever came of it, and the end of
// the lease, which lasts at least from the beginning of the call that admitted it or of the last one that extended it. Clocks may take
// twice epsilon off that, and where one is made wrong, as much as its node may be off. A client that dies is inside until its lease is
// over. No reset frees a permit. Where the limit was changed, the largest one counts.
func inside(v *view, r *Result) {
	r.Things = "permits"
	for _, b := range v.of(Concurrency) {
		most := int64(0)
		for i := range b.versions {
			most = max(most, b.versions[i].Capacity)
		}
		stays := v.stays(b)
		r.Checked += len(stays)
		var in []*stay
		sum := int64(0)
		for _, s := range stays {
			in = slices.DeleteFunc(in, func(o *stay) bool {
				if o.until <= s.from {
					sum -= o.call.Cost
				}
				return o.until <= s.from
			})
			in = append(in, s)
			if sum += s.call.Cost; sum > most {
				v.found(r, b, shownStays(in), "at %s %d were inside, of at most %d", relative(s.from, v.start), sum, most)
				break
			}
		}
	}
}

// A stay is how long a caller certainly was inside, with the permit of a check.
type stay struct {
	call        *Call
	from, until int64 // until is excluded
}

// stays are those of the bucket, in the order in which they begin.
func (v *view) stays(b *bucket) []*stay {
	extended, back := map[uint64]*Call{}, map[uint64]int64{}
	for _, c := range b.calls { // by their start
		switch {
		case c.Kind == KindExtend && c.Outcome == Admitted:
			extended[c.Receipt.Serial] = c
		case c.Kind == KindReturn:
			if _, ok := back[c.Receipt.Serial]; !ok {
				back[c.Receipt.Serial] = c.Start
			}
		}
	}
	var all []*stay
	for _, c := range b.admitted() {
		lasts := c.Start // at least from here on
		if c.Receipt != nil && extended[c.Receipt.Serial] != nil {
			lasts = max(lasts, extended[c.Receipt.Serial].Start)
		}
		s := &stay{call: c, from: c.End, until: lasts + b.versions[0].Length - 2*v.epsilon}
		s.until -= v.held(c.Start, max(c.Start, s.until))
		if c.Receipt != nil {
			if at, ok := back[c.Receipt.Serial]; ok {
				s.until = min(s.until, at)
			}
		}
		if s.from < s.until {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *stay) int { return cmp.Compare(a.from, b.from) })
	return all
}

// shownStays are the checks of those inside: the first and the last.
func shownStays(in []*stay) []*Call {
	var some []*Call
	for _, s := range in {
		some = append(some, s.call)
	}
	if n := len(some); n > 4 {
		some = slices.Concat(some[:2], some[n-2:])
	}
	return some
}
