package history

import (
	"cmp"
	"slices"
)

// Ahead is how far beyond what a bucket can hold a segment may have been reserved, in nanoseconds: what an owner may still
// spend after a reset that it has not heard of.
const Ahead = int64(100e6)

// Forgotten is how long after a reset, in nanoseconds, its generation may have been forgotten: when nothing that it says
// matters any more, the bucket begins again with the first one.
const Forgotten = int64(60e9)

// disjoint finds line that was spent twice. It needs no clock: spans of one bucket and generation never overlap. For
// buckets that were reset it looks at three more things that can be told from outside:
//
//   - A generation is a position, up to which the reset frees the line. Line beyond it belongs to one generation only, so
//     spans of different generations overlap only before the newer one's position.
//   - A check that begins after a reset is done is served from an older generation only if its line was reserved before:
//     the span ends before the end of the reset, plus what a bucket holds, plus [Ahead], plus epsilon. (This one has to
//     look at the callers' clock.) So it is for a minute; then the reset may be [Forgotten]. And a fault may have lost it:
//     replicas that have lost what was reserved start again with the first generation, a whole bucket or more ahead of the
//     fault.
//   - A newer generation than the first one is seen only once a caller has begun a reset.
func disjoint(v *view, r *Result) {
	r.Things = "spans"
	for _, b := range v.lines() {
		spans := receipts(b.admitted())
		r.Checked += len(spans)
		slices.SortStableFunc(spans, func(a, b *Call) int {
			return cmp.Or(
				cmp.Compare(a.Receipt.Generation, b.Receipt.Generation),
				cmp.Compare(a.Receipt.Start, b.Receipt.Start), cmp.Compare(a.Receipt.End, b.Receipt.End))
		})
		v.overlaps(r, b, spans)
		if n := len(spans); n > 0 && spans[0].Receipt.Generation != spans[n-1].Receipt.Generation {
			v.unasked(r, b, spans)
			v.across(r, b, spans)
		}
		v.outstanding(r, b, spans)
	}
}

// receipts are the calls that have one.
func receipts(calls []*Call) []*Call {
	return slices.DeleteFunc(calls, func(c *Call) bool { return c.Receipt == nil })
}

// overlaps finds spans of one generation that overlap. They come by generation and start.
func (v *view) overlaps(r *Result, b *bucket, spans []*Call) {
	var last *Call // of those so far, the one that reaches furthest
	for _, c := range spans {
		switch {
		case c.Receipt.Start == c.Receipt.End:
		case last == nil || last.Receipt.Generation != c.Receipt.Generation || last.Receipt.End <= c.Receipt.Start:
			last = c
		default:
			v.found(r, b, []*Call{last, c}, "spans overlap by %d ns", min(last.Receipt.End, c.Receipt.End)-c.Receipt.Start)
			if c.Receipt.End > last.Receipt.End {
				last = c
			}
		}
	}
}

// unasked finds a newer generation that was seen before any reset began.
func (v *view) unasked(r *Result, b *bucket, spans []*Call) {
	first := int64(forever)
	for _, reset := range b.only(KindReset, Done, Failed) {
		first = min(first, reset.Start)
	}
	for i, c := range spans {
		if c.Receipt.Generation > spans[0].Receipt.Generation && c.End < first {
			v.found(r, b, []*Call{spans[0], spans[i]}, "a new generation, although no reset had begun")
			return
		}
	}
}

// across finds spans of different generations that overlap beyond the position of the newer one.
func (v *view) across(r *Result, b *bucket, spans []*Call) {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b *Call) int { return cmp.Compare(a.Receipt.Start, b.Receipt.Start) })
	var open []*Call // spans that reach beyond the start of the one looked at
	for _, c := range spans {
		if c.Receipt.Start == c.Receipt.End {
			continue
		}
		open = slices.DeleteFunc(open, func(o *Call) bool { return o.Receipt.End <= c.Receipt.Start })
		for _, o := range open {
			newer := max(o.Receipt.Generation, c.Receipt.Generation)
			end := min(o.Receipt.End, c.Receipt.End)
			if o.Receipt.Generation != c.Receipt.Generation && end > newer {
				v.found(r, b, []*Call{o, c}, "spans of two generations overlap by %d ns beyond the newer generation, which is at %s",
					end-max(newer, c.Receipt.Start), relative(newer, v.start))
			}
		}
		open = append(open, c)
	}
}

// outstanding finds checks that began after a reset and were served from line of before it that no owner can have reserved.
func (v *view) outstanding(r *Result, b *bucket, spans []*Call) {
	resets := b.only(KindReset, Done)
	if len(resets) == 0 {
		return
	}
	byEnd := slices.Clone(spans)
	slices.SortStableFunc(byEnd, func(a, b *Call) int { return cmp.Compare(a.End, b.End) })
	// The newest generation seen before each reset began, and the first end of this reset or a later one.
	oldest := make([]int64, len(resets))
	ends := make([]*Call, len(resets))
	newest, n := int64(-1), 0
	for i, reset := range resets {
		for ; n < len(byEnd) && byEnd[n].End < reset.Start; n++ {
			newest = max(newest, byEnd[n].Receipt.Generation)
		}
		oldest[i] = newest
	}
	for i, reset := range slices.Backward(resets) {
		ends[i] = reset
		if i+1 < len(resets) && ends[i+1].End < reset.End {
			ends[i] = ends[i+1]
		}
	}
	for _, c := range spans {
		i, _ := slices.BinarySearch(oldest, c.Receipt.Generation)
		if i == len(resets) || c.Start <= ends[i].End || c.Start > ends[i].End+Forgotten || v.lost(b, ends[i], c) {
			continue
		}
		if over := c.Receipt.End - (ends[i].End + v.epsilon + b.largest() + Ahead); c.Receipt.Start < c.Receipt.End && over > 0 {
			v.found(r, b, []*Call{ends[i], c}, "after a reset, line from before the reset was spent, %d ns beyond the furthest that an owner can have reserved", over)
		}
	}
}

// lost says whether a fault after the reset may have lost it, and c's span lies beyond everything that was reserved before.
func (v *view) lost(b *bucket, reset, c *Call) bool {
	return slices.ContainsFunc(v.Faults, func(f Fault) bool {
		return !f.Healed() && f.End >= reset.Start && f.Start <= c.End && c.Receipt.Start >= f.Start-v.epsilon+b.largest()
	})
}
