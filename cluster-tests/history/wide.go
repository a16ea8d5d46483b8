package history

import "math/bits"

// A wide is an integer of 128 bits. The checkers count line in parts of a nanosecond, of which as many make one as tokens
// are refilled at a time: that is exact, and needs more than 64 bits.
type wide struct {
	hi int64
	lo uint64
}

// product is a·b, for any a and b ≥ 0.
func product(a, b int64) wide {
	if a < 0 {
		hi, lo := bits.Mul64(-uint64(a), uint64(b))
		return wide{}.minus(wide{int64(hi), lo})
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return wide{int64(hi), lo}
}

func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return wide{a.hi + b.hi + int64(carry), lo}
}

func (a wide) minus(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return wide{a.hi - b.hi - int64(borrow), lo}
}

func (a wide) less(b wide) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a wide) positive() bool { return a.hi > 0 || a.hi == 0 && a.lo > 0 }

func larger(a, b wide) wide {
	if a.less(b) {
		return b
	}
	return a
}

// over is a/b, rounded, for people to read.
func (a wide) over(b int64) float64 {
	return (float64(a.hi)*(1<<64) + float64(a.lo)) / float64(b)
}

// divideUp is a·b/d rounded up, which must fit in 64 bits.
func divideUp(a, b, d int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	quo, rem := bits.Div64(hi, lo, uint64(d))
	if rem > 0 {
		quo++
	}
	return int64(quo)
}

func smaller(a, b wide) wide {
	if b.less(a) {
		return b
	}
	return a
}
