package history

// placed finds spans that could not have been spent at any time within their call: one that began before the call did, or
// that reaches further ahead of its end than the bucket is large. Where the limit was being changed, the larger bucket
// counts. Line that was spent again lies where it was spent first, so only its end is looked at.
func placed(v *view, r *Result) {
	r.Things = "spans"
	for _, b := range v.buckets {
		for _, c := range receipts(b.admitted()) {
			r.Checked++
			if s := c.Receipt.Span; s.Start < s.End && s.Start < c.Start-v.epsilon {
				v.found(r, b, []*Call{c}, "the span begins %d ns before the earliest time of the call", c.Start-v.epsilon-s.Start)
			}
			latest := c.End + v.epsilon
			if s := c.Receipt.Span; s.Start < s.End && !within(b.inForce(c), s.End-latest) {
				v.found(r, b, []*Call{c}, "the span ends %s after the end of the call, which is more than the bucket holds", seconds(s.End-latest))
			}
			for _, s := range c.Receipt.Reuses {
				if !within(b.versions, s.End-latest) {
					v.found(r, b, []*Call{c}, "reused line ends %s after the end of the call, which is more than the bucket holds", seconds(s.End-latest))
				}
			}
		}
	}
}

// within says whether a whole bucket is at least so many nanoseconds long in one of the versions.
func within(versions []terms, ns int64) bool {
	for i := range versions {
		if t := &versions[i]; !t.line(t.Capacity).less(product(ns, t.n)) {
			return true
		}
	}
	return false
}
