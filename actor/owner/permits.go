package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// takeOut goes on with the permits of w, and says whether all is known of them.
func (o *Owner) takeOut(w *waiter, now int64, out *Out) bool {
	over := true
	for i := range w.permits {
		p := &w.permits[i]
		if !p.over {
			o.takeOutOne(p, now, out)
		}
		over = over && p.over
	}
	if over {
		out.Replies = append(out.Replies, Reply{Tag: w.Tag})
	}
	return over
}

// takeOutOne goes on with a permit.
func (o *Owner) takeOutOne(p *Permit, now int64, out *Out) {
	b := o.bucketToChange(p.Rule, out)
	l := b.ledger()
	switch waits, lost := l.standing(b, p.claimed, now, o.cfg); {
	case waits:
	case lost:
		p.over = true // it counts until its lease is over
	case !l.current:
		o.eachToTakeOut(b, func(p *Permit) { p.claimed = true })
		l.written = nil
		o.claim(b, now, out)
	default:
		o.rewrite(b, nil, now, out)
	}
}

// bucketToChange is the bucket that has the register of rule: its numbers may be others.
func (o *Owner) bucketToChange(rule *limit.Rule, out *Out) *bucket {
	if b := o.withRegister(rule.Register()); b != nil {
		return b
	}
	return o.bucketOf(rule, out)
}

// writeUnclaimed writes the ledger without the rooms that no check was given, when no check has done so for a while: other owners are
// to know, and the bucket can be forgotten then. A busy key keeps what it takes ahead.
func (o *Owner) writeUnclaimed(b *bucket, now int64, out *Out) {
	l := b.ledger()
	if l == nil || l.releaseAt == 0 || now < l.releaseAt || b.pending() != nil {
		return
	}
	l.releaseAt = now + o.cfg.Delta // for another try
	ahead := b.roomAhead(now, o.cfg) > 0
	switch {
	case !l.unclaimed():
		l.releaseAt = 0
	case l.busyUntil() <= now: // it has ended
		l.taken = nil
		l.forgetRooms()
	case o.Waiting() > 0, b.pausing(now), ahead && l.allStay(b.rule, now):
	case !l.current:
		l.written = nil
		o.claim(b, now, out)
	default:
		next, _ := l.takeBack(b.rule, now, ahead)
		o.write(b, next, nil, now, true, out)
	}
}

// allStay says whether nothing would go back with a write that keeps what checks at now by the rule can be given.
func (l *ledger) allStay(rule *limit.Rule, now int64) bool {
	return !slices.ContainsFunc(l.rooms, func(r room) bool { return !l.stays(&r, rule, now) })
}
