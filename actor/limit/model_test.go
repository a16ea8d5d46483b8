package limit_test

import (
	"math/big"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A model is a token bucket as textbooks have it: a level that rises with time up to the capacity and from which
// admissions are taken. It knows no line. All its numbers are rational, so it is exact, and slow.
type model struct {
	capacity *big.Rat
	rate     *big.Rat // tokens per nanosecond
	tokens   *big.Rat // after the last admission
	at       int64    // when that was
}

func newModel(l limit.Limit) *model {
	capacity := new(big.Rat).SetInt64(l.Capacity)
	return &model{
		capacity: capacity,
		rate:     big.NewRat(l.Refill.Tokens, int64(l.Refill.Per)),
		tokens:   capacity,
	}
}

// level is the tokens at t. At times before the last admission it is what would have to be there for the bucket to
// stand where it stands, which can be below zero.
func (m *model) level(t int64) *big.Rat {
	risen := new(big.Rat).Mul(m.rate, big.NewRat(t-m.at, 1))
	risen.Add(risen, m.tokens)
	if risen.Cmp(m.capacity) > 0 {
		return m.capacity
	}
	return risen
}

// decide admits cost at t if it is there, and takes it.
func (m *model) decide(t, cost int64) bool {
	left := new(big.Rat).Sub(m.level(t), big.NewRat(cost, 1))
	if left.Sign() < 0 {
		return false
	}
	if cost > 0 {
		m.tokens, m.at = left, t
	}
	return true
}

// remaining is the whole tokens at t.
func (m *model) remaining(t int64) int64 {
	level := m.level(t)
	if level.Sign() < 0 {
		return 0
	}
	return new(big.Int).Quo(level.Num(), level.Denom()).Int64()
}

// wait is the least whole number of nanoseconds after t at which the level has reached tokens, no more than capacity.
func (m *model) wait(t int64, tokens *big.Rat) time.Duration {
	missing := new(big.Rat).Sub(tokens, m.level(t))
	if missing.Sign() <= 0 {
		return 0
	}
	return time.Duration(ceil(missing.Quo(missing, m.rate)))
}

func ceil(x *big.Rat) int64 {
	quo, rem := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if rem.Sign() > 0 {
		quo.Add(quo, big.NewInt(1))
	}
	return quo.Int64()
}

// lineOf is the exact value of p, a position of l's rule.
func lineOf(l limit.Limit, p limit.Pos) *big.Rat {
	n := big.NewRat(l.Refill.Tokens, int64(l.Refill.Per)).Num()
	part := new(big.Rat).SetFrac(new(big.Int).SetUint64(p.Frac), n)
	return part.Add(part, new(big.Rat).SetInt64(p.NS))
}

// allowance is C + r·w, what l admits at most in a window of that length.
func allowance(l limit.Limit, window int64) *big.Rat {
	refilled := big.NewRat(l.Refill.Tokens, int64(l.Refill.Per))
	refilled.Mul(refilled, big.NewRat(window, 1))
	return refilled.Add(refilled, big.NewRat(l.Capacity, 1))
}
