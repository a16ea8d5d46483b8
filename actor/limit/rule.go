package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// MaxFill is the longest time that an empty bucket may take to fill: 2⁶¹ ns, about 73 years. So the sum of a time and a few such
// lengths fits in 64 bits.
const MaxFill = time.Duration(1 << 61)

// A Rule is a Limit made ready to decide: its algorithm, and the arithmetic of its positions. It is immutable. Two Rules that are
// equal (==) decide alike.
type Rule struct {
	Limit
	n, p      uint64 // refill in lowest terms: n tokens every p nanoseconds
	tau       Pos    // the line of a whole bucket
	reach     int64
	algorithm algorithm

	Inline bool // a request has defined the limit
}

// An algorithm says how a bucket's line, which is its time axis, may be spent: a check of cost c consumes a span of c tokens'
// length, which begins at Begin(t) or later, where the spans before it end, and ends at Bound(t) or before. Owners, replicas and
// gateways use nothing else of an algorithm, so they are safe for every algorithm for which
//
//	t ≤ Begin(t) ≤ Bound(t) ≤ t + the rule's reach
//
// and for which Begin and Bound never decrease as t increases. Line before Begin cannot be spent any more, and may be forgotten.
// An algorithm is a value that can be compared with ==: equal algorithms decide alike.
type algorithm interface {
	// Begin is the start of the line that a check at t may spend.
	Begin(t int64) int64
	// Bound is the end of the line that a check at t may spend. It lies before the end of the range of positions, where [Rule.Add] stops.
	Bound(t int64) Pos
	// Affordable is the first t at which a span that ends at end can be spent: for which Bound(t) is not before end.
	Affordable(end Pos) Pos

	// Fill is the longest time until an empty bucket is full again.
	Fill() time.Duration
	// Window is the time over which a client can spread the tokens that remain; when none remains, the time until the next one.
	// ResetAfter is the time until the bucket is full.
	Window(remaining int64, resetAfter time.Duration) time.Duration
	// Part is the n-th part of l, for one of n gateways that decide without the cluster: all parts together admit
	// no more than the limit, unless a part would be less than one token. ok is false if there is no such part.
	Part(l Limit, n int) (part Limit, ok bool)
	// Envelope is what l admits at most in any window of time.
	Envelope(l Limit) Envelope
}

// An Envelope bounds what a limit admits: in any window of time at most Burst tokens, and those that Refill brings in that time.
type Envelope struct {
	Burst  int64
	Refill Refill
}

// errTooLong refuses a limit whose line would reach further ahead than positions can.
var errTooLong = &FieldError{
	Field:   "capacity",
	Problem: "at this refill an empty bucket takes more than 73 years to fill: lower the capacity or refill faster",
}

// newRule checks the capacity and the refill of a limit, by which a token is p/n nanoseconds of line. The caller sets the algorithm
// and its reach.
func newRule(l Limit) (*Rule, error) {
	switch {
	case l.Capacity == 0:
		return nil, &FieldError{Field: "capacity", Problem: "is missing or 0: use at least 1 token"}
	case l.Capacity < 0:
		return nil, &FieldError{Field: "capacity", Problem: fmt.Sprintf("%d is too small: use at least 1 token", l.Capacity)}
	case l.Refill == (Refill{}):
		return nil, &FieldError{Field: "refill", Problem: "is missing: write n/duration, such as 5/s"}
	}
	if err := l.Refill.validate(); err != nil {
		return nil, err
	}
	g := gcd(uint64(l.Refill.Tokens), uint64(l.Refill.Per))
	r := &Rule{Limit: l, n: uint64(l.Refill.Tokens) / g, p: uint64(l.Refill.Per) / g}
	r.tau = r.Length(l.Capacity)
	if r.tau.Ceil() > int64(MaxFill) {
		return nil, errTooLong
	}
	return r, nil
}

// Length is the line that cost tokens consume. If that is out of range, it is the greatest length.
func (r *Rule) Length(cost int64) Pos { return length(cost, r.n, r.p) }

// length is the line that cost tokens consume, n of which take p nanoseconds.
func length(cost int64, n, p uint64) Pos {
	quo, rem, ok := mulDiv(uint64(cost), p, n)
	if !ok {
		return Pos{NS: math.MaxInt64}
	}
	return Pos{NS: int64(quo), Frac: rem}
}

// Begin is the start of the line that a check at t may spend: t or later.
func (r *Rule) Begin(t int64) int64 { return r.algorithm.Begin(t) }

// Bound is the last position at which a span may end that is spent at t. It always lies before the end of the range, where
// [Rule.Add] stops.
func (r *Rule) Bound(t int64) Pos { return r.algorithm.Bound(t) }

// End is where the span of a check of that length ends when it is decided at t in a bucket at tat.
func (r *Rule) End(tat Pos, t int64, length Pos) Pos {
	return r.Add(Later(tat, At(r.Begin(t))), length)
}

// Decide is the whole decision on a bucket held in memory: the TAT after a check of cost at t, and whether it was
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

// Wait is how long after t a span that ends at end can be spent; 0 if it can be at t.
func (r *Rule) Wait(end Pos, t int64) time.Duration {
	return r.Sub(r.algorithm.Affordable(end), At(t)).duration()
}

// Fill is how long an empty bucket takes to fill at most, rounded up to the nanosecond.
func (r *Rule) Fill() time.Duration { return r.algorithm.Fill() }

// Reach is how far ahead of now this rule may ever spend, in nanoseconds.
func (r *Rule) Reach() int64 { return r.reach }

// Window is the time over which a client can spread the tokens that remain; when none remains, the time until the next one.
// ResetAfter is the time until the bucket is full.
func (r *Rule) Window(remaining int64, resetAfter time.Duration) time.Duration {
	return r.algorithm.Window(remaining, resetAfter)
}

// Envelope is what the rule admits at most in any window of time.
func (r *Rule) Envelope() Envelope { return r.algorithm.Envelope(r.Limit) }

// Tokens is how many whole tokens fit in the line between tat and the bound of t.
func (r *Rule) Tokens(tat Pos, t int64) int64 {
	bound, from := r.Bound(t), Later(tat, At(r.Begin(t)))
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
		ResetAfter: r.Wait(r.Add(tat, r.tau), t), // when a whole bucket can be spent behind tat
	}
	switch {
	case cost > r.Capacity:
		o.Allowed, o.Never = false, true
	case !allowed:
		o.RetryAfter = r.Wait(end, t)
	}
	return o
}

// Same says whether positions of r and o can be compared: whether both divide the nanosecond into as many parts.
func (r *Rule) Same(o *Rule) bool { return r.n == o.n }

// Carry turns a position of the rule from into one of r, for a bucket whose limit was changed. The TAT stays where it is, since debt
// is measured in time. It is rounded up to a whole nanosecond if the rules divide the nanosecond differently.
func (r *Rule) Carry(from *Rule, a Pos) Pos {
	if r.Same(from) {
		return a
	}
	return At(a.Ceil())
}
