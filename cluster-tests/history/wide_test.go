package history

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func (a wide) big() *big.Int {
	x := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return x.Add(x, new(big.Int).SetUint64(a.lo))
}

// Wide integers reckon as big ones do.
func TestWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.Int64Range(-1<<62, 1<<62)
		counts := rapid.Int64Range(0, 1<<62)
		a, b, c, d := times.Draw(t, "a"), counts.Draw(t, "b"), times.Draw(t, "c"), counts.Draw(t, "d")
		x, y := product(a, b), product(c, d)
		p, q := new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), new(big.Int).Mul(big.NewInt(c), big.NewInt(d))
		for what, ok := range map[string]bool{
			"product":  x.big().Cmp(p) == 0,
			"plus":     x.plus(y).big().Cmp(new(big.Int).Add(p, q)) == 0,
			"minus":    x.minus(y).big().Cmp(new(big.Int).Sub(p, q)) == 0,
			"less":     x.less(y) == (p.Cmp(q) < 0),
			"positive": x.positive() == (p.Sign() > 0),
			"larger":   larger(x, y).big().Cmp(p) >= 0 && larger(x, y).big().Cmp(q) >= 0,
			"smaller":  smaller(x, y).big().Cmp(p) <= 0 && smaller(x, y).big().Cmp(q) <= 0,
		} {
			if !ok {
				t.Errorf("%s of %d·%d and %d·%d", what, a, b, c, d)
			}
		}
	})
}
