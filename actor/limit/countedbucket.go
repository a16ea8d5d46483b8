package limit

// A countedBucket is a token bucket whose admissions are counted in a [Ledger], with the holds beside them: so whichever owner settles a
// hold knows of it, in buckets that take too long to fill to wait for that after an owner has died. All that was admitted is one queue,
// from which it comes back one after the other. As on a line, what is stored is when that is over, the theoretical arrival time TAT: time that
// has to pass, and not tokens, which come back at another refill when another plan asks. See [Ledger.queueUp].
//
//	to come back
//	   │╲
//	   │ ╲      ╱╲
//	   │  ╲    ╱  ╲
//	───┴───╲──╱────╲────▶ t
//	                TAT
//
// Times are those of each owner's clock, as on a line.
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
	r.exact, r.line = true, nil
	r.register = r.Name + "@bucket"
	r.counts(countedBucket{tokenBucket{price: r.price, tau: r.tau}})
	return r, nil
}

// Slot is t alone.
func (countedBucket) Slot(t int64) (at, until int64) { return t, t + 1 }

// Ends is when a bucket that was emptied then is full again.
func (b countedBucket) Ends(at int64) int64 { return at + b.Lasts() }

// Lasts is how long an empty bucket takes to fill.
func (b countedBucket) Lasts() int64 { return b.tau.Ceil() }

// Counted is what has not come back yet of what was admitted then, if that was all.
func (b countedBucket) Counted(at, amount, t int64) int64 {
	return b.tokensFor(sub(add(At(at), b.length(amount), b.n), At(t), b.n))
}

// Steps is false.
func (countedBucket) Steps() bool { return false }

// Permits is false.
func (countedBucket) Permits() bool { return false }
