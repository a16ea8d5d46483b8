package limit

import "math"

// A countedBucket is a token bucket whose admissions are counted in a [Ledger], with the holds beside them: so whichever owner settles a
// hold knows of it, in buckets that take too long to fill to wait for that after an owner has died. All that was admitted is one queue,
// from which tokens come back one after the other, at the refill:
//
//	                 Counted(at, amount, t)
//	amount ──────┐  ╱
//	             │╲╱
//	             │ ╲
//	─────────────┴──┴──────▶ t
//	            at   Ends
//
// Its one entry says so in exact numbers: the time moves on by whole multiples of p nanoseconds alone, in which n tokens come back.
// Times are those of each owner's clock, as on the line of a token bucket.
type countedBucket struct{ tokenBucket }

// newBucket makes a rule of a token bucket, which is counted if it takes holds and long to fill.
func newBucket(l Limit) (*Rule, error) {
	r, err := newTokenBucket(l)
	if err != nil || l.Holds.Longest == 0 || r.tau.Ceil() <= soon {
		return r, err
	}
	if r.n > uint64(MaxCount) || r.Capacity > MaxCount {
		return nil, &FieldError{Field: "hold", Problem: "belongs to limits of at most 1000000000000000 tokens, in the refill and in all: write smaller numbers, or leave it out"}
	}
	r.exact, r.line, r.reach = true, nil, 0
	r.register = r.Name + "@bucket"
	r.counts(countedBucket{tokenBucket{n: r.n, p: r.p, tau: r.tau}})
	return r, nil
}

// Slot is t alone.
func (countedBucket) Slot(t int64) (at, until int64) { return t, t + 1 }

// Ends is when a bucket that was emptied then is full again.
func (b countedBucket) Ends(at int64) int64 { return at + b.Lasts() }

// Lasts is how long an empty bucket takes to fill.
func (b countedBucket) Lasts() int64 { return b.tau.Ceil() }

// Counted is what has not come back yet.
func (b countedBucket) Counted(at, amount, t int64) int64 {
	if t <= at {
		return amount
	}
	back, _, ok := mulDiv(uint64(t-at), b.n, b.p)
	if !ok {
		return 0
	}
	return max(0, amount-int64(back))
}

// whole is how many whole tokens of that entry have not come back at t: Counted counts the one that has come back in part.
func (b countedBucket) whole(at, amount, t int64) int64 {
	if t <= at {
		return amount
	}
	back, part, ok := mulDiv(uint64(t-at), b.n, b.p)
	switch {
	case !ok:
		return 0
	case part > 0:
		back++
	}
	return max(0, amount-int64(back))
}

// Steps is false.
func (countedBucket) Steps() bool { return false }

// Permits is false.
func (countedBucket) Permits() bool { return false }

// left is when no more than rest of that entry has still to come back.
func (b countedBucket) left(at, amount, rest int64) int64 {
	if amount <= rest {
		return math.MinInt64
	}
	takes := length(amount-rest, b.n, b.p).Ceil()
	if takes > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + takes
}

// moveOn is the same entry at a later time, as close before t as it can be exactly.
func (b countedBucket) moveOn(at, amount, t int64) (later, left int64) {
	times := max(0, t-at) / int64(b.p)
	return at + times*int64(b.p), amount - times*int64(b.n)
}
