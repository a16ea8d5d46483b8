package limit

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// A Pos is an exact position on a bucket's line, or a length of it:
//
//	NS + Frac/n nanoseconds, 0 ≤ Frac < n
//
// where n is the numerator of the bucket's refill in lowest terms (n tokens every p nanoseconds), so that the time per
// token, p/n, and every sum of such times is represented without rounding. Positions count from the Unix epoch. A Pos
// belongs to the Rule that made it; see [Rule.Carry]. The zero Pos is that of a bucket that was never used.
type Pos struct {
	NS   int64
	Frac uint64
}

// At is the position of a time in nanoseconds since the Unix epoch.
func At(ns int64) Pos { return Pos{NS: ns} }

// Compare orders two positions of one Rule.
func (a Pos) Compare(b Pos) int {
	if c := cmp.Compare(a.NS, b.NS); c != 0 {
		return c
	}
	return cmp.Compare(a.Frac, b.Frac)
}

// After says whether a lies after b.
func (a Pos) After(b Pos) bool { return a.NS > b.NS || a.NS == b.NS && a.Frac > b.Frac }

// Ceil is the first whole nanosecond that is not before a.
func (a Pos) Ceil() int64 {
	if a.Frac > 0 && a.NS < math.MaxInt64 {
		return a.NS + 1
	}
	return a.NS
}

// Later is the later one of two positions.
func Later(a, b Pos) Pos {
	if b.After(a) {
		return b
	}
	return a
}

// Add is a + b, where b is a length. A sum beyond the range of NS is math.MaxInt64, which no [Rule.Bound] reaches.
func (r *Rule) Add(a, b Pos) Pos { return add(a, b, r.n) }

// Sub is a − b. Where that is negative, NS is and Frac is not.
func (r *Rule) Sub(a, b Pos) Pos { return sub(a, b, r.n) }

// add is a + b for positions in n-ths of a nanosecond.
func add(a, b Pos, n uint64) Pos {
	sum := Pos{NS: a.NS + b.NS, Frac: a.Frac + b.Frac}
	if sum.Frac >= n {
		sum.Frac -= n
		sum.NS++
	}
	if b.NS >= 0 && sum.NS < a.NS {
		return Pos{NS: math.MaxInt64}
	}
	return sum
}

// sub is a − b for positions in n-ths of a nanosecond.
func sub(a, b Pos, n uint64) Pos {
	d := Pos{NS: a.NS - b.NS, Frac: a.Frac - b.Frac}
	if a.Frac < b.Frac {
		d.Frac += n
		d.NS--
	}
	return d
}

// mulDiv is the quotient and remainder of a·b/d, with ok = false when the quotient does not fit in 63 bits.
func mulDiv(a, b, d uint64) (quo, rem uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= d {
		return 0, 0, false
	}
	quo, rem = bits.Div64(hi, lo, d)
	return quo, rem, quo <= math.MaxInt64
}

// duration is a length as a time.Duration, rounded up; lengths below zero are 0.
func (a Pos) duration() time.Duration { return time.Duration(max(a.Ceil(), 0)) }
