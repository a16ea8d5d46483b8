package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// withPenalties adds the buckets of penalties to the rules of a check, behind them.
func withPenalties(rules []*limit.Rule) []*limit.Rule {
	all := slices.Clip(rules)
	for _, rule := range rules {
		if p := rule.Penalties(); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// limits is how many of the check's rules are those of limits: the rest are of their penalties.
func (c *Check) limits() int {
	n := len(c.Rules)
	for n > 0 && c.Rules[n-1].OfPenalties() {
		n--
	}
	return n
}

// penaltiesOf is the bucket of the penalties of the i-th limit, or nil if it has none.
func penaltiesOf(trials []trial, i int) *bucket {
	own := trials[i].bucket.rule.Penalties()
	if own == nil {
		return nil
	}
	at := slices.IndexFunc(trials, func(t trial) bool { return t.bucket.rule.Name == own.Name })
	return trials[at].bucket
}

// testClosed is test for a bucket of penalties.
func (l *ledger) testClosed(b *bucket, c *Check, now int64, cfg *Config) ruling {
	switch {
	case c.Extend != 0: // its client is inside
		return admit
	case l.readAt != 0 && c.Cost > 0 && b.closedFor(now) > 0:
		return deny
	case l.readAt != 0, l.blocked(b, now, cfg) > 0:
		return admit
	case b.pending() != nil:
		return stay
	}
	return wait
}

// penalize notes that the i-th limit has denied c, and closes its bucket if that was one denial too many.
func (o *Owner) penalize(c *Check, trials []trial, i int, now int64, out *Out) {
	b := penaltiesOf(trials, i)
	if b == nil || trials[i].verdict != deny || c.Cost == 0 || c.Cost > trials[i].bucket.rule.Capacity || c.Extend != 0 || b.closedFor(now) > 0 {
		return
	}
	if p := b.ledger().penalties; p.Deny(c.At, b.rule.Penalty) {
		p.due, p.writeAt = true, now
		o.writePenalty(b, now, out)
	}
}

// pardon ends the row of denials of all limits of a check that was admitted.
func pardon(c *Check, trials []trial) {
	if c.Cost == 0 || c.Extend != 0 {
		return
	}
	for i := c.limits(); i < len(trials); i++ {
		trials[i].bucket.ledger().penalties.Denied = 0
	}
}

// tellClosed says of the outcomes of a check which buckets are closed.
func tellClosed(c *Check, trials []trial, now int64, d *limit.Decision) {
	for i := range d.Limits {
		if b := penaltiesOf(trials, i); b != nil && c.Extend == 0 {
			if closed := b.closedFor(now); closed > 0 {
				d.Limits[i].Close(closed, c.Cost)
			}
		}
	}
}

// writePenalty stores that the bucket is closed, if it is to be: after a claim, if another owner may have closed it before.
func (o *Owner) writePenalty(b *bucket, now int64, out *Out) {
	l := b.ledger()
	if l == nil || l.penalties == nil || !l.penalties.due || now < l.penalties.writeAt || b.pending() != nil {
		return
	}
	p := l.penalties
	if now > p.until(b.rule.Penalty) { // too long ago
		p.due = false
		return
	}
	p.writeAt = now + o.cfg.Delta // for another try
	switch {
	case b.pausing(now), l.blocked(b, now, o.cfg) > 0:
		return
	case !l.current:
		l.written = nil
		o.claim(b, now, out)
		return
	}
	if end, _ := l.ClosedUntil(); end > now {
		p.due = false
		return
	}
	next := l.Clone(nil)
	next.Close(now, b.rule.Penalty)
	o.write(b, l.draft(next, &out.ledger), now, true, out)
}
