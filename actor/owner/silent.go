package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// answerEarly answers checks that wait for silent replicas and have little time left. If so many are silent that there is no
// majority, this owner may be cut off from them before a failure detector has noticed, and another owner may not be: the
// check has to ask that one. Otherwise the answers of the others are enough for a decision. The checks are looked at in the
// order in which they came: one with less time than an earlier one waits for that one, at most until its own deadline.
func (o *Owner) answerEarly(now int64, out *Out) {
	for {
		at, p := o.answerEarlyAt()
		if at > now {
			return
		}
		switch w := o.overflow.first(); {
		case w.checks() && p.stuck(o.cfg):
			o.decideWithout(&w.Check, now, out)
		default:
			out.Replies = append(out.Replies, Reply{Tag: w.Tag, Err: p.lost(o.cfg, true)})
		}
		o.overflow.pop()
	}
}

// answerEarlyAt is when answerEarly has something to do next, and for want of which reservation: one to which too few have
// said anything for a quarter of the Patience, or that is stuck.
func (o *Owner) answerEarlyAt() (at int64, want *pending) {
	at = math.MaxInt64
	if o.Waiting() == 0 || o.cfg.Replicas == 1 {
		return at, nil
	}
	w := o.overflow.first()
	for i := range o.size() {
		b := o.at(i)
		p, due := b.pending(), w.earlyAt()
		switch {
		case p == nil || !w.concerns(b):
			continue
		case p.stuck(o.cfg):
			due = max(due, p.heardAt+silence)
		case o.cfg.Patience > 0 && p.silent(o.cfg):
			due = max(due, p.sentAt+o.cfg.Patience/4)
		default:
			continue
		}
		if due < at {
			at, want = due, p
		}
	}
	return at, want
}

// earlyAt is when a check has to be answered so that its caller has time to ask another owner: after three fifths of its time.
func (w *waiter) earlyAt() int64 { return w.At + (w.Deadline-w.At)/5*3 }

// decideWithout decides c by what replicas have told, without those that are silent.
func (o *Owner) decideWithout(c *Check, now int64, out *Out) {
	trials, _ := o.try(c, now, out)
	denied := false
	for i := range trials {
		t := &trials[i]
		if p := t.bucket.pending(); t.verdict != admit && (c.Cost == 0 || p != nil && p.stuck(o.cfg)) {
			t.bucket.withoutSilent(t, c, o.cfg)
		}
		denied = denied || t.verdict != admit
	}
	if denied {
		o.deny(c, now, trials, out)
	} else {
		o.admit(c, now, trials, out)
	}
}

// withoutSilent is what the bucket says to a check that has no more time for a silent replica: it is denied, since the line that
// the others would accept lies too far on to be skipped. Who comes back Δ later finds the replica answering, or lost. A
// check of no cost is told what the others told.
func (b *bucket) withoutSilent(t *trial, c *Check, cfg *Config) {
	if b.ledger() != nil {
		t.verdict = deny
		return
	}
	from := max(b.held.to, b.rule.Begin(t.at))
	if p := b.pending(); p != nil {
		from = max(from, b.free(b.gen, responding, p, cfg))
	}
	bound := b.rule.Bound(t.at)
	t.end = b.rule.Add(limit.At(from), t.length)
	switch {
	case c.Cost == 0 && !t.end.After(bound):
		t.verdict = admit
	default:
		t.verdict = deny
		t.again = max(int64(b.rule.Wait(t.end, c.At+c.Wait)), cfg.Delta)
		t.end = limit.Later(t.end, b.rule.Add(bound, limit.At(cfg.Delta))) // so that less remains than was asked for
	}
}
