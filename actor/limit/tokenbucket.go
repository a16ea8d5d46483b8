package limit

import (
	"math"
	"math/bits"
	"time"
)

// MaxFill is the longest time that an empty bucket may take to fill: 2⁶¹ ns, about 73 years. It leaves room for every
// sum of a time of day and a few such lengths in 64 bits.
const MaxFill = time.Duration(1 << 61)

// A Rule is a Limit made ready to decide. It is immutable.
//
// A token bucket is decided by the generic cell rate algorithm (ITU-T I.371; the virtual scheduling form): its whole
// state is one position on a line that is time itself, the theoretical arrival time TAT. With p/n the time per token,
//
//	      t          TAT                          t+τ        τ = capacity · p/n
//	──────┴───────────┴────────────────────────────┴────▶
//	       spent ahead │◀──── what can be spent ──▶│
//
// a check of cost c at time t consumes the span from max(TAT, t) to max(TAT, t) + c·p/n, and is admitted if that ends
// no later than t + τ. A bucket whose TAT has passed is full. All arithmetic is exact.
type Rule struct {
	Limit
	n, p uint64 // refill in lowest terms: n tokens every p nanoseconds
	tau  Pos    // the line of a whole bucket

	Inline bool // a request has defined it
}

func newTokenBucket(l Limit) (*Rule, error) {
	g := gcd(uint64(l.Refill.Tokens), uint64(l.Refill.Per))
	r := &Rule{Limit: l, n: uint64(l.Refill.Tokens) / g, p: uint64(l.Refill.Per) / g}
	r.tau = r.Length(l.Capacity)
	if r.tau.Ceil() > int64(MaxFill) {
		return nil, &FieldError{
			Field:   "capacity",
			Problem: "at this refill an empty bucket takes more than 73 years to fill: lower the capacity or refill faster",
		}
	}
	return r, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Length is the line that cost tokens consume. A cost whose length is out of range has the greatest one.
func (r *Rule) Length(cost int64) Pos {
	quo, rem, ok := mulDiv(uint64(cost), r.p, r.n)
	if !ok {
		return Pos{NS: math.MaxInt64}
	}
	return Pos{NS: int64(quo), Frac: rem}
}

// End is where the span of a check of that length ends when it is decided at t in a bucket at tat.
func (r *Rule) End(tat Pos, t int64, length Pos) Pos {
	return r.Add(Later(tat, At(t)), length)
}

// Bound is the last position at which a span may end that is spent at t: t + τ, and always before the end of the range,
// where [Rule.Add] stops.
func (r *Rule) Bound(t int64) Pos {
	bound := r.Add(At(t), r.tau)
	if bound.NS == math.MaxInt64 {
		return Pos{NS: math.MaxInt64 - 1}
	}
	return bound
}

// Decide is the whole algorithm on a bucket held in memory: the TAT after a check of cost at t, and whether it was
// admitted. A denied check leaves the TAT as it is.
func (r *Rule) Decide(tat Pos, t, cost int64) (Pos, bool) {
	end := r.End(tat, t, r.Length(cost))
	if end.After(r.Bound(t)) {
		return tat, false
	}
	if cost == 0 {
		return tat, true
	}
	return end, true
}

// Fill is how long an empty bucket takes to fill, rounded up to the nanosecond.
func (r *Rule) Fill() time.Duration { return r.tau.duration() }

// Reach is how far ahead of now this rule may ever spend, in nanoseconds.
func (r *Rule) Reach() int64 { return r.tau.Ceil() }

// Tokens is how many whole tokens fit in the line between tat and the bound of t.
func (r *Rule) Tokens(tat Pos, t int64) int64 {
	bound, from := r.Bound(t), Later(tat, At(t))
	if from.After(bound) {
		return 0
	}
	free := r.Sub(bound, from)
	// free is NS + Frac/n nanoseconds, a token p/n of them: (NS·n + Frac) / p tokens. It is at most the capacity.
	hi, lo := bits.Mul64(uint64(free.NS), r.n)
	lo, carry := bits.Add64(lo, free.Frac, 0)
	tokens, _ := bits.Div64(hi+carry, lo, r.p)
	return int64(tokens)
}

// Outcome describes to a caller what was decided at t. tat is the bucket after the decision, end where the check's span
// ends or would have ended, and allowed whether this rule lets it pass.
func (r *Rule) Outcome(tat Pos, t int64, cost int64, end Pos, allowed bool) Outcome {
	o := Outcome{
		Name:       r.Name,
		Allowed:    allowed,
		Limit:      r.Capacity,
		Remaining:  r.Tokens(tat, t),
		ResetAfter: r.Sub(tat, At(t)).duration(),
	}
	switch {
	case cost > r.Capacity:
		o.Allowed, o.Never = false, true
	case !allowed:
		o.RetryAfter = r.Sub(end, r.Bound(t)).duration()
	}
	return o
}

// Same says whether positions of r and o can be compared: whether they divide the nanosecond alike.
func (r *Rule) Same(o *Rule) bool { return r.n == o.n }

// Carry turns a position of the rule from into one of r, for a bucket whose limit was changed. TAT stays as it is: debt
// is measured in time. What does not divide alike is rounded up to a whole nanosecond.
func (r *Rule) Carry(from *Rule, a Pos) Pos {
	if r.Same(from) {
		return a
	}
	return At(a.Ceil())
}
