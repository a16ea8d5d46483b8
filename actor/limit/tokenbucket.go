package limit

import (
	"math"
	"time"
)

// A tokenBucket decides by the generic cell rate algorithm (ITU-T I.371, in its virtual scheduling form). The whole state of a
// bucket is one position on its time axis, the theoretical arrival time TAT. With p/n the time per token,
//
//	      t          TAT                          t+τ        τ = capacity · p/n
//	──────┴───────────┴────────────────────────────┴────▶
//	       spent ahead │◀──── what can be spent ──▶│
//
// a check of cost c at time t consumes the span from max(TAT, t) to max(TAT, t) + c·p/n, and is admitted if that ends
// no later than t + τ. A bucket whose TAT has passed is full. All arithmetic is exact.
type tokenBucket struct {
	price     // the refill: n tokens every p nanoseconds
	tau   Pos // the line of a whole bucket
}

func newTokenBucket(l Limit) (*Rule, error) {
	r, err := newRefilled(l)
	if err != nil {
		return nil, err
	}
	r.spends(tokenBucket{price: r.price, tau: r.tau}, r.tau.Ceil())
	return r, nil
}

// Begin is t: time that has passed cannot be spent.
func (tokenBucket) Begin(t int64) int64 { return t }

// Bound is t + τ.
func (b tokenBucket) Bound(t int64) Pos {
	bound := add(At(t), b.tau, b.n)
	if bound.NS == math.MaxInt64 {
		return Pos{NS: math.MaxInt64 - 1}
	}
	return bound
}

// Affordable is end − τ.
func (b tokenBucket) Affordable(end Pos) Pos { return sub(end, b.tau, b.n) }

// Fill is τ.
func (b tokenBucket) Fill() time.Duration { return b.tau.duration() }

// Window is how long the remaining tokens take to refill, so that a client that spreads them over that time is no faster than the
// refill.
func (b tokenBucket) Window(remaining int64, resetAfter time.Duration) time.Duration {
	if remaining > 0 {
		return b.length(remaining).duration()
	}
	// The bucket is full after resetAfter. It has its first token earlier by the time that all others take.
	return sub(add(At(int64(resetAfter)), b.length(1), b.n), b.tau, b.n).duration()
}

// Part is a bucket with that part of the capacity, rounded down but at least 1, and exactly that part of the refill.
func (tokenBucket) Part(l Limit, n int) (part Limit, ok bool) {
	part = l
	part.Capacity = max(l.Capacity/int64(n), 1)
	part.Refill, ok = l.Refill.part(n)
	return part, ok
}

// Envelope is a whole bucket, and the refill.
func (tokenBucket) Envelope(l Limit) Envelope { return Envelope{Burst: l.Capacity, Refill: l.Refill} }
