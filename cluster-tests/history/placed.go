package history

// placed finds spans that could not have been spent at any time within their call, or as much later as its caller waits: one that began before the call did, or
// that reaches further ahead of its end than the bucket is large. Where the limit was being changed, the larger bucket
// counts. While a clock is made wrong, what its node holds may be spent that much too early or too late. A fixed window spends
// line behind its end, as much as it is long. Line that was spent again lies where it was spent first, so only its end is looked at.
func placed(v *view, r *Result) {
	r.Things = "spans"
	for _, b := range v.lines() {
		for _, c := range receipts(b.admitted()) {
			r.Checked++
			off, begin := v.epsilon+v.held(c.Start, c.End), c.Start+c.Wait
			if s := c.Receipt.Span; s.Start < s.End && s.Start < begin-off {
				v.found(r, b, []*Call{c}, "the span begins %d ns before the earliest time at which its caller could begin", begin-off-s.Start)
			}
			latest := c.End + c.Wait + off
			if s := c.Receipt.Span; s.Start < s.End && !within(b.inForce(c), s.End, latest) {
				v.found(r, b, []*Call{c}, "the span ends %s after the end of the call, which is more than the bucket holds", seconds(s.End-latest))
			}
			for _, s := range c.Receipt.Reuses {
				if !within(b.versions, s.End, latest) {
					v.found(r, b, []*Call{c}, "reused line ends %s after the end of the call, which is more than the bucket holds", seconds(s.End-latest))
				}
			}
		}
	}
}

// within says whether line up to end can be spent at the latest time of a call, in one of the versions.
func within(versions []terms, end, latest int64) bool {
	for i := range versions {
		t, from := &versions[i], latest
		if t.Algorithm == FixedWindow {
			from = latest - latest%t.Length + t.Length
		}
		if !t.line(t.Capacity).less(product(end-from, t.n)) {
			return true
		}
	}
	return false
}
