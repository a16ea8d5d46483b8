package history_test

import (
	"math/big"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// slow says whether any window of the first key holds too much, looking at all of them one by one, and by how much the worst
// one does, in tokens. It knows checks and returns of one limit, and resets.
func slow(h *history.History, epsilon int64) (over bool, worst *big.Rat) {
	l := h.Limits[0]
	refill := big.NewRat(l.Tokens, l.PerNS)
	fill := new(big.Int).Mul(big.NewInt(l.Capacity), big.NewInt(l.PerNS))
	fill.Add(fill, big.NewInt(l.Tokens-1)).Div(fill, big.NewInt(l.Tokens)) // rounded up
	in := func(ns int64) *big.Rat { return new(big.Rat).Mul(refill, new(big.Rat).SetInt64(ns)) }
	for i := range h.Calls {
		for j := range h.Calls {
			start, end := h.Calls[i].Start, h.Calls[j].End
			if !isAdmitted(&h.Calls[i]) || !isAdmitted(&h.Calls[j]) || end < start {
				continue
			}
			net := new(big.Rat).Sub(big.NewRat(-l.Capacity, 1), in(end-start+2*epsilon))
			held := false
			for k := range h.Calls {
				c := &h.Calls[k]
				later := c.Start <= end
				switch {
				case isAdmitted(c) && c.Start >= start && c.End <= end:
					net.Add(net, big.NewRat(c.Cost, 1))
					held = true
				case c.Kind == history.KindReturn && later && (c.Outcome == history.Taken && c.End >= start || c.Outcome == history.Failed):
					pieces := c.Receipt.End - c.Receipt.Start + 1
					for _, s := range c.Receipt.Reuses {
						pieces += s.End - s.Start + 1
					}
					net.Sub(net, in(pieces))
				case c.Kind == history.KindReset && later && (c.Outcome == history.Failed || c.End > start):
					net.Sub(net, in(fill.Int64()+history.Ahead+2*epsilon+c.End-c.Start))
				case c.Kind == history.KindReset && later:
					net.Sub(net, in(max(0, c.End+fill.Int64()+history.Ahead+2*epsilon-start)))
				}
			}
			if held && (worst == nil || net.Cmp(worst) > 0) {
				worst = net
			}
		}
	}
	return worst != nil && worst.Sign() > 0, worst
}
