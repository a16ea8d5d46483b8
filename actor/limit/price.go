package limit

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A price is the line of a token: n tokens are p nanoseconds of it, in lowest terms. Positions and lengths of line count in n-ths of a
// nanosecond, see [Pos].
type price struct{ n, p uint64 }

func newPrice(n, p uint64) price {
	g := gcd(n, p)
	return price{n: n / g, p: p / g}
}

// length is the line that so many tokens consume. If that is out of range, it is the greatest length.
func (c price) length(tokens int64) Pos {
	quo, rem, ok := mulDiv(uint64(tokens), c.p, c.n)
	if !ok {
		return Pos{NS: math.MaxInt64}
	}
	return Pos{NS: int64(quo), Frac: rem}
}

// tokensIn is how many whole tokens a length of line is, which is not below 0. If that is out of range, it is the greatest number.
func (c price) tokensIn(length Pos) int64 {
	// length is NS + Frac/n nanoseconds, a token p/n of them: (NS·n + Frac) / p tokens.
	hi, lo := bits.Mul64(uint64(length.NS), c.n)
	lo, carry := bits.Add64(lo, length.Frac, 0)
	if hi += carry; hi >= c.p {
		return math.MaxInt64
	}
	tokens, _ := bits.Div64(hi, lo, c.p)
	return int64(min(tokens, math.MaxInt64))
}

// tokensFor is how many tokens pay for a length of line: rounded up, and none for one of less than nothing.
func (c price) tokensFor(length Pos) int64 {
	if length.NS < 0 {
		return 0
	}
	tokens := c.tokensIn(length)
	if tokens < math.MaxInt64 && length.After(c.length(tokens)) {
		tokens++
	}
	return tokens
}

// append appends the price as a ledger stores it.
func (c price) append(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, c.n), c.p)
}

// read reads what append has appended: a price, or none.
func (c *price) read(d *byteReader) bool {
	c.n, c.p = d.number(), d.number()
	return *c == price{} || 0 < c.n && c.n <= uint64(MaxCount) && 0 < c.p && c.p <= math.MaxInt64
}
