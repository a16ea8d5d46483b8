package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// expires is when the hold of a check does; 0 for no hold.
func (c *Check) expires() int64 {
	if c.Hold == 0 {
		return 0
	}
	return c.At + c.Hold
}

// maxLowered is how often the cost of a check is lowered before it is denied. Once is enough as a rule.
const maxLowered = 4

// lower tries c again with what its buckets have left, if it takes less than its cost. It says whether c is denied.
func (o *Owner) lower(c *Check, trials []trial, now int64, out *Out) (_ []trial, denied bool) {
	for range maxLowered {
		left := c.Cost - 1
		for i := range trials {
			if t := &trials[i]; t.verdict == deny {
				left = min(left, t.bucket.left(c, now, o.cfg))
			}
		}
		if left < c.Least {
			break
		}
		c.Cost = left
		if trials, denied = o.tryAt(c, c.At, now, out); !denied {
			return trials, false
		}
	}
	return trials, true
}

// left is how many tokens a bucket has for c that has denied its cost.
func (b *bucket) left(c *Check, now int64, cfg *Config) int64 {
	switch l := b.ledger(); {
	case b.rule.OfPenalties():
		return 0
	case l != nil && l.blocked(b, now, cfg) > 0:
		return 0
	case l != nil:
		return l.place(now)
	}
	return b.tokensUpTo(b.rule.Bound(c.At), c.At, cfg)
}

// tokensUpTo is how many tokens can be spent at t of the line up to bound: where this owner would go on, or of what it holds, where a
// majority would accept only what begins further on.
func (b *bucket) tokensUpTo(bound limit.Pos, t int64, cfg *Config) int64 {
	spent, next := b.spentAt(t), b.start(t, t, cfg)
	if next <= max(b.held.to, b.rule.Begin(t)) {
		return b.rule.TokensUpTo(bound, spent, t)
	}
	return max(b.rule.TokensUpTo(limit.At(b.held.to), spent, t), b.rule.TokensUpTo(bound, limit.Later(spent, limit.At(next)), t))
}

// settle goes on with the settlement of w, and says whether all is known of it.
func (o *Owner) settle(w *waiter, now int64, out *Out) bool {
	over := true
	for i := range w.settles {
		s := &w.settles[i]
		if !s.over {
			b := o.bucketToChange(s.Rule, out)
			if b.ledger() != nil {
				o.settleCounted(b, s, now, out)
			} else {
				o.settleLine(b, s, now, out)
			}
		}
		over = over && s.over
	}
	if over {
		out.Replies = append(out.Replies, Reply{Tag: w.Tag})
	}
	return over
}

// settleCounted goes on with a settle of a limit that counts entries:
//
//	claim the ledger, unless it is the latest ─▶ the hold is not listed: nothing is known of it
//	                                          └▶ write it with what was used ─▶ a majority has stored it: that is the answer
//
// A hold that is settled already is written too: what a claim is told may be too little, and who goes on from what only a minority has
// stored could tell this caller one thing and the next another.
func (o *Owner) settleCounted(b *bucket, s *Settle, now int64, out *Out) {
	l := b.ledger()
	switch {
	case b.pending() != nil, b.pausing(now):
		return
	case l.blocked(b, now, o.cfg) > 0: // a majority has forgotten it
		s.unknown()
		return
	}
	switch _, listed := l.HoldOf(s.Held.ID); {
	case l.current && listed:
		o.rewrite(b, nil, now, out)
	case l.current && s.claimed:
		s.unknown()
	default:
		s.claimed, l.written = true, nil
		o.claim(b, now, out)
	}
}

// enter enters what s says into a ledger that is to be written.
func (s *Settle) enter(next *limit.Ledger, rule *limit.Rule, now int64) {
	change := limit.HoldChange{ID: s.Held.ID, Used: s.Used, Open: s.Open}
	if s.For > 0 {
		change.Until = now + s.For
	}
	h, listed := next.Settle(now, change, rule.DebtTokens())
	if s.sent = listed; !listed {
		return
	}
	s.tell(h.State(now), h.Charged(now), h.Until, max(0, -next.Free(now)))
}

// tell notes what s came to. Until is when the hold expires, unless it is settled.
func (s *Settle) tell(state limit.HoldState, charged, until, debt int64) {
	if state == limit.HoldSettled {
		until = 0
	}
	s.Settled = limit.SettledLimit{
		Name: s.Rule.Name, State: state, Charged: charged, Returned: max(0, s.Granted-charged), Debt: debt, Until: until,
	}
}

func (s *Settle) unknown() {
	s.over, s.Settled = true, limit.SettledLimit{Name: s.Rule.Name, State: limit.HoldUnknown}
}

// eachToSettle calls f with each settle of the bucket of which not all is known.
func (o *Owner) eachToSettle(b *bucket, f func(*Settle)) {
	if o.Waiting() == 0 {
		return
	}
	for i := range o.overflow.waiting() {
		settles := o.overflow.waiting()[i].settles
		for j := range settles {
			if s := &settles[j]; !s.over && s.Rule.Register() == b.rule.Register() {
				f(s)
			}
		}
	}
}
