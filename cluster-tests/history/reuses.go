package history

import (
	"cmp"
	"slices"
)

// reuses finds line that was spent again without having been given back. Where line is leased, that it was given back is not told by any call: there, each
// piece may be spent once more than it was given back. Each reused piece must lie in pieces of receipts
// whose return was taken, or may have been, before the check that reuses it was answered, by the same owner and in the same
// generation; and as often as a piece was given back, so often may it be spent again. A receipt is taken back once, and only
// if a caller was given it. What was admitted before the limit's numbers changed is not spent again once they are in force.
// Every return must be in the history.
func reuses(v *view, r *Result) {
	r.Things = "returns and reused pieces"
	for _, b := range v.lines() {
		returns := b.only(KindReturn, Taken, Failed)
		var again []*Call
		for _, c := range receipts(b.admitted()) {
			if len(c.Receipt.Reuses) > 0 {
				again = append(again, c)
				r.Checked += len(c.Receipt.Reuses)
			}
		}
		r.Checked += len(returns)
		if len(returns) > 0 {
			v.takenBack(r, b, returns)
		}
		switch {
		case b.leased():
			v.spentOnce(r, b, returns)
		case len(again) > 0:
			v.spentAgain(r, b, returns, again)
		}
	}
}

// An issue is what tells a receipt from all others of its bucket.
type issue struct {
	generation int64
	owner      string
	serial     uint64
	span       Span
}

func (r *Receipt) issue() issue { return issue{r.Generation, r.Owner, r.Serial, r.Span} }

// takenBack finds receipts that were taken back twice, and those that no caller was given.
func (v *view) takenBack(r *Result, b *bucket, returns []*Call) {
	given := map[issue]*Call{}
	for _, c := range receipts(b.admitted()) {
		given[c.Receipt.issue()] = c
	}
	taken := map[issue]*Call{}
	for _, c := range returns {
		if c.Outcome != Taken {
			continue
		}
		id := c.Receipt.issue()
		check, before := given[id], taken[id]
		switch {
		case check == nil:
			v.found(r, b, []*Call{c}, "a receipt was taken back that no check was answered with")
		case !slices.Equal(check.Receipt.Reuses, c.Receipt.Reuses):
			v.found(r, b, []*Call{check, c}, "a receipt was taken back that differs from the one in the answer")
		case before != nil:
			v.found(r, b, []*Call{before, c}, "a receipt was taken back twice")
		}
		taken[id] = c
	}
}

// A strip is a piece of line that was given back, or spent again, in a call.
type strip struct {
	Span
	call *Call
	back bool  // given back
	paid int64 // when the check that it was given back of had ended; forever if that is not known
}

// ended says whether a change to other numbers came between what was paid by some time and a later check.
func (b *bucket) ended(paid int64, c *Call) bool {
	for i := 1; i < len(b.versions); i++ {
		v, before := &b.versions[i], &b.versions[i-1]
		if paid < v.from && v.sure <= c.Start && (v.Capacity != before.Capacity || v.n != before.n || v.p != before.p) {
			return true
		}
	}
	return false
}

// spentAgain finds pieces that were spent again more often than they were given back.
func (v *view) spentAgain(r *Result, b *bucket, returns, again []*Call) {
	type stretch struct {
		generation int64
		owner      string
	}
	strips := map[stretch][]strip{}
	var order []stretch
	paid := map[issue]int64{}
	for _, c := range receipts(b.admitted()) {
		paid[c.Receipt.issue()] = c.End
	}
	add := func(c *Call, back bool, spans ...Span) {
		at := stretch{c.Receipt.Generation, c.Receipt.Owner}
		if strips[at] == nil {
			order = append(order, at)
		}
		end, ok := paid[c.Receipt.issue()]
		if !ok {
			end = forever
		}
		for _, s := range spans {
			if s.Start < s.End {
				strips[at] = append(strips[at], strip{s, c, back, end})
			}
		}
	}
	for _, c := range returns {
		add(c, true, c.Receipt.Span)
		add(c, true, c.Receipt.Reuses...)
	}
	for _, c := range again {
		add(c, false, c.Receipt.Reuses...)
	}
	for _, at := range order {
		v.match(r, b, strips[at])
	}
}

// spentOnce finds pieces of a generation that were spent twice, by whichever owner or edge.
func (v *view) spentOnce(r *Result, b *bucket, returns []*Call) {
	byGeneration := map[int64][]strip{}
	var order []int64
	add := func(c *Call, back bool) {
		at := c.Receipt.Generation
		if byGeneration[at] == nil {
			order = append(order, at)
		}
		for _, s := range append([]Span{c.Receipt.Span}, c.Receipt.Reuses...) {
			if s.Start < s.End {
				byGeneration[at] = append(byGeneration[at], strip{s, c, back, 0})
			}
		}
	}
	for _, c := range receipts(b.admitted()) {
		add(c, false)
	}
	for _, c := range returns {
		add(c, true)
	}
	for _, at := range order {
		v.matchOnce(r, b, byGeneration[at])
	}
}

// matchOnce goes along the line and finds the pieces that were spent more than once more often than they were given back.
func (v *view) matchOnce(r *Result, b *bucket, strips []strip) {
	slices.SortFunc(strips, func(a, b strip) int {
		if a.Start == b.Start && a.back != b.back {
			return map[bool]int{true: -1, false: 1}[a.back]
		}
		return cmp.Compare(a.Start, b.Start)
	})
	told := map[*Call]bool{}
	var open []strip
	for _, s := range strips {
		open = slices.DeleteFunc(open, func(o strip) bool { return o.End <= s.Start })
		open = append(open, s)
		spent, back := 0, 0
		for _, o := range open {
			if o.back {
				back++
			} else {
				spent++
			}
		}
		if spent > back+1 && !s.back && !told[s.call] {
			told[s.call] = true
			v.found(r, b, calls(open, s.call), "the piece %s of what was leased was spent twice", s.since(v.start))
		}
	}
}

// match goes along the line and compares, piece by piece, how often it was given back and how often spent again.
func (v *view) match(r *Result, b *bucket, strips []strip) {
	slices.SortFunc(strips, func(a, b strip) int { return cmp.Compare(a.Start, b.Start) })
	var cuts []int64
	for _, s := range strips {
		cuts = append(cuts, s.Start, s.End)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	told := map[*Call]bool{}
	var open []strip
	next := 0
	for i := 0; i+1 < len(cuts); i++ {
		open = slices.DeleteFunc(open, func(s strip) bool { return s.End <= cuts[i] })
		for ; next < len(strips) && strips[next].Start == cuts[i]; next++ {
			open = append(open, strips[next])
		}
		if bad := b.unmatched(open); bad != nil && !told[bad] {
			told[bad] = true
			piece := Span{cuts[i], cuts[i+1]}
			v.found(r, b, calls(open, bad), "the piece %s was spent again more often than it was given back", piece.since(v.start))
		}
	}
}

// unmatched is a call that spends a piece again that had not been given back as often by its end, or only in the time of
// other numbers; or nil.
func (b *bucket) unmatched(open []strip) *Call {
	var back []int64
	var again []*Call
	for _, s := range open {
		if s.back {
			back = append(back, s.call.Start)
		} else {
			again = append(again, s.call)
		}
	}
	slices.Sort(back)
	slices.SortFunc(again, func(a, b *Call) int { return cmp.Compare(a.End, b.End) })
	for i, c := range again {
		lives := slices.ContainsFunc(open, func(s strip) bool { return s.back && s.call.Start <= c.End && !b.ended(s.paid, c) })
		if i >= len(back) || back[i] > c.End || !lives {
			return c
		}
	}
	return nil
}

// calls are those of some strips, the first one first.
func calls(strips []strip, first *Call) []*Call {
	all := []*Call{first}
	for _, s := range strips {
		if !slices.Contains(all, s.call) && len(all) < 4 {
			all = append(all, s.call)
		}
	}
	return all
}
