package owner

import (
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errManyHolds answers a hold of a bucket in which very many are open.
var errManyHolds = fmt.Errorf("%w: as many holds of this key are open as may be: settle those that are over, or give keys of their own to those who share it",
	limit.ErrOverloaded)

// holdsTooMany says whether a bucket has no room for the hold that c asks for.
func (o *Owner) holdsTooMany(c *Check, now int64) bool {
	return slices.ContainsFunc(c.Rules, func(rule *limit.Rule) bool {
		b := o.find(rule.Name)
		if b == nil {
			return false
		}
		if l := b.ledger(); l != nil {
			// Others may have settled what one of before lists. What is dropped to see it stays listed: it is stored.
			return l.find(b.rule, c, now) < 0 && l.fresh(c.At) && l.ListsMost() && (!l.MayDrop(now) || l.Clone(nil).FullOfHolds(now))
		}
		hs := b.lineHolds()
		return hs != nil && hs.full(now)
	})
}

// left is how many tokens a bucket has for c that has denied its cost.
func (b *bucket) left(c *Check, now int64, cfg *Config) int64 {
	switch l := b.ledger(); {
	case b.rule.OfPenalties():
		return 0
	case l != nil && l.blocked(b, now, cfg) > 0:
		return 0
	case l != nil:
		return l.Free(now)
	}
	return b.tokensUpTo(b.rule, b.rule.Bound(c.At), c.At, c.At, cfg)
}

// newHold is a hold of so many tokens of so many limits.
func newHold(tokens int64, limits int) *limit.Hold {
	if limits > 1 {
		return &limit.Hold{Granted: tokens, Limits: make([]limit.Held, limits)}
	}
	h := &struct {
		limit.Hold
		held [1]limit.Held
	}{} // in one piece, since that is the usual one
	h.Granted, h.Limits = tokens, h.held[:limits]
	return &h.Hold
}

// hold writes down what a hold has consumed, so that it can be settled.
func (o *Owner) hold(b *bucket, s spent, c *Check) limit.Held {
	hs := b.withLineHolds()
	h := hs.unused()
	*h = lineHold{
		spent: s, id: hs.numbers.Next(o.cfg.Nonce), amount: c.Cost, charged: c.Cost, at: c.At, until: c.expires(), free: b.rule.Holds.OnExpiry == limit.Free,
	}
	h.number, h.stretch = hs.numbers.Last(), hs.stretch
	hs.add(h, c.At)
	return limit.Held{Limit: b.rule.Name, Inline: b.rule.Defined(), Generation: b.gen, Owner: o.id, ID: h.id}
}
