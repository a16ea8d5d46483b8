package nodes

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Settle implements [limit.Settler]: the first of the key's replicas that can settles the hold. Settlements that are made at the same time
// travel together, and with checks.
//
// A settlement takes effect once, so it may be asked of the next replica where one has failed. It is asked of no other beside one
// that is merely slow: that one may have taken the hold, and where a limit counts no entries, the others know nothing of it.
func (s *Set) Settle(ctx context.Context, settlement limit.Settlement) (limit.Settled, error) {
	if err := settlement.Validate(); err != nil {
		return limit.Settled{}, err
	}
	return s.settle(s.callSettle(ctx, &settlement), settlement)
}

// SettleElsewhere is Settle after the own node was asked and could not settle, for the reason why.
func (s *Set) SettleElsewhere(ctx context.Context, settlement limit.Settlement, why error) (limit.Settled, error) {
	c := s.callSettle(ctx, &settlement)
	c.beginsAfter(s.own, why)
	return s.settle(c, settlement)
}

// callSettle is a call to settle a hold.
func (s *Set) callSettle(ctx context.Context, settlement *limit.Settlement) call {
	c := s.call(ctx, settlement.Hold.Key)
	c.hedging = inTurn
	return c
}

func (s *Set) settle(c call, settlement limit.Settlement) (limit.Settled, error) {
	return do(c, func(ctx context.Context, n *Node) (limit.Settled, error) { return n.settle(ctx, &settlement) })
}
