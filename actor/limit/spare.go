package limit

import "time"

// What an owner takes of a bucket beyond what checks need, where that saves writes, is lost with the owner until time has brought it back.
const (
	spareShare = 5                             // percent of a bucket
	spareTime  = int64(500 * time.Millisecond) // or what refills in so long, where that is more
)

// setSpare reckons how many tokens may be taken beyond what checks need, once all else of r is known: whole ones only, so that a bucket of
// a few loses nothing, and never more than half of them.
func (r *Rule) setSpare() {
	if r.exact {
		return
	}
	hi := r.Capacity / 100 * spareShare
	r.spare = hi + r.Capacity%100*spareShare/100
	if r.line != nil {
		if refilled, _, ok := mulDiv(uint64(spareTime), r.n, r.p); ok {
			r.spare = max(r.spare, int64(refilled))
		}
	}
	r.spare = min(r.spare, r.Capacity/2)
	r.spareLine = r.Length(r.spare).NS
}

// Spare is how many tokens of a bucket an owner may take beyond what checks need.
func (r *Rule) Spare() int64 { return r.spare }

// SpareLine is the line of as many tokens, in nanoseconds.
func (r *Rule) SpareLine() int64 { return r.spareLine }
