package history

// lengths finds receipts that are shorter or longer than their cost. Each piece of line is its exact length but for less
// than a nanosecond, since both ends are rounded down.
func lengths(v *view, r *Result) {
	r.Things = "receipts"
	for _, b := range v.lines() {
		for _, c := range receipts(b.admitted()) {
			r.Checked++
			if !fitsAny(b.inForce(c), c) {
				v.found(r, b, []*Call{c}, "a receipt for %d tokens is %d ns long, not %.3f",
					c.Cost, c.Receipt.length(), b.inForce(c)[0].line(c.Cost).over(b.inForce(c)[0].n))
			}
		}
	}
}

func fitsAny(versions []terms, c *Call) bool {
	for i := range versions {
		t := &versions[i]
		off := product(t.n, c.Receipt.length()).minus(t.line(c.Cost))
		rounding := product(t.n, int64(1+len(c.Receipt.Reuses)))
		if off.less(rounding) && (wide{}).minus(rounding).less(off) {
			return true
		}
	}
	return false
}

// length is all the line that a receipt stands for, in nanoseconds.
func (r *Receipt) length() int64 {
	sum := r.End - r.Start
	for _, again := range r.Reuses {
		sum += again.End - again.Start
	}
	return sum
}
