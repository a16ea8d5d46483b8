package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// reserve sends for the line that a waiting check needs, unless a reservation is in flight or a refusal is too recent.
func (o *Owner) reserve(t *trial, now int64, out *Out) {
	b, at := t.bucket, t.at
	if b.pending() != nil || b.pausing(now) {
		return
	}
	to := t.from
	if t.need.After(limit.At(t.from)) {
		to = max(t.need.Ceil(), o.neededByWaiting(b, t.need, at), b.ahead(t.from, at, now, t.length, o.cfg))
	}
	o.send(b, Send{Generation: b.gen, From: t.from, To: to}, now, out)
}

// neededByWaiting is up to where the checks and settlements need the line that wait behind the first one, which needs it up to need: one
// reservation serves them all, but for those that cannot be admitted.
func (o *Owner) neededByWaiting(b *bucket, need limit.Pos, at int64) int64 {
	if o.Waiting() < 2 {
		return need.Ceil()
	}
	bound := b.rule.Bound(at)
	for i := range o.overflow.waiting()[1:] {
		w := &o.overflow.waiting()[i+1]
		if slices.ContainsFunc(w.Rules, func(r *limit.Rule) bool { return !b.differs(r) }) {
			need = b.rule.Add(need, b.rule.Length(w.Cost))
		}
		for j := range w.settles {
			if s := &w.settles[j]; s.Used > s.Granted && !b.differs(s.Rule) {
				need = b.rule.Add(need, b.rule.Length(s.Used-s.Granted))
			}
		}
		if w.Wait > 0 {
			bound = limit.Later(bound, b.rule.Bound(w.At+w.Wait))
		}
		if need.After(bound) {
			return bound.Ceil()
		}
	}
	return need.Ceil()
}

// reserveAhead reserves the next segment of a busy key in the background, once a quarter of the held one is left, so
// that a hot key never waits. At is when the last check begins that was admitted: line is reserved behind the checks that wait.
func (o *Owner) reserveAhead(b *bucket, now, at int64, length limit.Pos, out *Out) {
	left, whole := b.held.to-max(b.tat.NS, b.rule.Begin(now)), b.held.to-b.held.from
	if left > whole/4 {
		return
	}
	if t := b.replication(); t != nil {
		if t.pending != nil || t.next.to > max(t.next.from, b.rule.Begin(now)) || now < t.retryAt {
			return
		}
		t.next = segment{} // one that no check needed in time
	}
	from := max(b.held.to, b.free(b.gen, all, nil, o.cfg), b.rule.Begin(now))
	if to := b.ahead(from, max(now, at), now, length, o.cfg); to > from {
		o.send(b, Send{Generation: b.gen, From: from, To: to, Background: true}, now, out)
	}
}

// ahead is up to where a key reserves beyond what it needs: what it will spend and what will pass in the next Δ, but
// not further than what could be spent in Δ. A key that is not busy reserves nothing ahead, so that it loses nothing when its
// owner dies; nor does one by a rule that is exact.
func (b *bucket) ahead(from, t, now int64, length limit.Pos, cfg *Config) int64 {
	if length.NS == 0 || b.rule.Exact() || !b.load.busy(now, cfg) {
		return from
	}
	demand := b.load.demand(now, cfg.Delta)
	end := max(from, b.rule.Begin(now+cfg.Delta))
	bound := b.rule.Bound(t + cfg.Delta).Ceil()
	if demand >= float64(bound-end) {
		return bound
	}
	return end + int64(demand)
}

// send puts a reservation in flight, in place of one that may be so.
func (o *Owner) send(b *bucket, s Send, now int64, out *Out) *pending {
	s.Limit, s.Seq, s.Epoch, s.Reach = b.rule.Register(), o.cfg.NextSeq(), o.epoch, b.rule.Reach()
	s.Inline = b.rule.Inline
	if lead := b.rule.Lead(); lead != s.Reach {
		s.Lead = lead
	}
	t := b.startReplication(out)
	t.flight = pending{Send: s, askedAt: now, sentAt: now, resendAt: o.cfg.resendAt(now)}
	t.pending = &t.flight
	out.Sends = append(out.Sends, s)
	return t.pending
}
