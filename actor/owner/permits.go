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
// to know, and the bucket can be forgotten then. What was taken ahead stays while the key is in use. If nothing is accepted, it is tried less and less often.
func (o *Owner) writeUnclaimed(b *bucket, now int64, out *Out) {
	l := b.ledger()
	if l == nil || l.releaseAt == 0 || now < l.releaseAt || b.pending() != nil {
		return
	}
	good := l.asGood(b.rule, now)
	keep := func(r *room) bool { return r.ahead && now < b.load.at+horizon && good(r) }
	switch {
	case !l.unclaimed():
		l.released()
	case l.busyUntil() <= now: // it has ended
		l.taken = nil
		l.forgetRooms()
	case len(l.taken) == 0 && !slices.ContainsFunc(l.rooms, func(r room) bool { return !keep(&r) }):
		l.releaseAt = b.load.at + horizon
		for i := range l.rooms {
			l.releaseAt = min(l.releaseAt, l.rooms[i].until)
		}
	case o.awaited(b):
		l.releaseAt = now + o.cfg.Delta
	case b.pausing(now), l.blocked(b, now, o.cfg) > 0:
		l.tryLater(now, o.cfg)
	case !l.current:
		l.tryLater(now, o.cfg)
		l.written = nil
		o.claim(b, now, out)
	default:
		l.tryLater(now, o.cfg)
		l.goBack(keep)
		o.write(b, l.draft(l.copied(), &out.ledger), now, true, out)
	}
}

// mostTries bounds how long it is put off: by 2⁷ Δ.
const mostTries = 7

// tryLater puts off what goes back, each time by twice as long.
func (l *ledger) tryLater(now int64, cfg *Config) {
	l.releaseAt = now + cfg.Delta<<l.tries
	l.tries = min(l.tries+1, mostTries)
}

// awaited says whether something waits for the bucket.
func (o *Owner) awaited(b *bucket) bool {
	if o.Waiting() == 0 {
		return false
	}
	waiting := o.overflow.waiting()
	for i := range waiting {
		if waiting[i].concerns(b) {
			return true
		}
	}
	return false
}
