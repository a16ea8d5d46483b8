package limit

import (
	"fmt"
	"time"
)

// spareTime is how long a bucket refills for, to what its owner may take at least.
const spareTime = int64(500 * time.Millisecond)

// spares reckons how much may be taken of a bucket beyond what checks need, once all else of r is known: whole tokens only, so that a bucket
// of a few loses nothing, and never more than half of them.
func (r *Rule) spares() error {
	share := int64(r.Reserve)
	switch {
	case r.Reserve == 0:
		share = defaultReserve
	case r.Reserve == ReserveExact:
		r.exact = true
	case !r.Reserve.isShare():
		return &FieldError{Field: "reserve", Problem: fmt.Sprintf("%d is neither -1, for exact, nor a percentage from 1 to %d", int(r.Reserve), MostReserve)}
	case r.exact:
		return &FieldError{Field: "reserve", Problem: fmt.Sprintf("%s of what takes longer than %s to come back would be missed for as long after a crash: leave it out, or write exact",
			r.Reserve, durationText(time.Duration(soon)))}
	}
	if r.exact {
		return nil
	}
	r.spare = r.Capacity/100*share + r.Capacity%100*share/100
	if r.line != nil {
		r.spare = max(r.spare, r.tokensIn(Pos{NS: spareTime}))
	}
	r.spare = min(r.spare, r.Capacity/2)
	r.spareLine = r.Length(r.spare).NS
	return nil
}

// Spare is how many tokens of a bucket an owner may take beyond what checks need.
func (r *Rule) Spare() int64 { return r.spare }

// SpareLine is the line of as many tokens, in nanoseconds.
func (r *Rule) SpareLine() int64 { return r.spareLine }

// Whole is the line of the whole tokens that fit in so many nanoseconds of line, in nanoseconds.
func (r *Rule) Whole(ns int64) int64 { return r.Length(r.tokensIn(Pos{NS: ns})).NS }
