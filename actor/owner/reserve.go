package owner

import (
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A pending reservation waits for a majority. A bucket has at most one.
type pending struct {
	Send
	reset    bool
	inVain   bool                 // as it was sent last, it cannot come about
	askedAt  int64                // when it was sent first
	sentAt   int64                // when it was sent last
	resendAt int64                // when it is to be sent again, unless its answers come
	heardAt  int64                // when the last answer came
	replies  [MaxReplicas]Verdict // 0: nothing yet
}

// reserve sends for the line that a waiting check needs, unless a reservation is in flight or a refusal is too recent.
func (o *Owner) reserve(t *trial, at, now int64, out *Out) {
	b := t.bucket
	if b.pending() != nil || b.pausing(now) {
		return
	}
	to := t.from
	if t.need.After(limit.At(t.from)) {
		to = max(t.need.Ceil(), o.behind(b, t.need, at), b.ahead(t.from, at, now, t.length, o.cfg))
	}
	o.send(b, Send{Generation: b.gen, From: t.from, To: to}, now, out)
}

// behind is up to where the checks need the line that wait behind the first one, which needs it up to need: one
// reservation serves them all, but for those that cannot be admitted.
func (o *Owner) behind(b *bucket, need limit.Pos, at int64) int64 {
	if o.Waiting() < 2 {
		return need.Ceil()
	}
	bound := b.rule.Bound(at)
	for i := range o.crowd.waiting()[1:] {
		w := &o.crowd.waiting()[i+1]
		if slices.ContainsFunc(w.Rules, func(r *limit.Rule) bool { return !b.differs(r) }) {
			need = b.rule.Add(need, b.rule.Length(w.Cost))
		}
		if need.After(bound) {
			return bound.Ceil()
		}
	}
	return need.Ceil()
}

// reserveAhead reserves the next segment of a busy key in the background, once a quarter of the held one is left, so
// that a hot key never waits.
func (o *Owner) reserveAhead(b *bucket, now int64, length limit.Pos, out *Out) {
	left, whole := b.held.to-max(b.tat.NS, now), b.held.to-b.held.from
	if left > whole/4 {
		return
	}
	if t := b.talk(); t != nil {
		if t.pending != nil || t.next.to > max(t.next.from, now) || now < t.retryAt {
			return
		}
		t.next = segment{} // one that nobody needed in time
	}
	from := max(b.held.to, b.free(b.gen, all, nil, o.cfg), now)
	if to := b.ahead(from, now, now, length, o.cfg); to > from {
		o.send(b, Send{Generation: b.gen, From: from, To: to, Background: true}, now, out)
	}
}

// ahead is up to where a key reserves beyond what it needs: what it will spend and what will pass in the next Δ, but
// not further than Δ beyond what could be spent now. A key that is not busy reserves nothing ahead, so that it loses
// nothing when its owner dies.
func (b *bucket) ahead(from, t, now int64, length limit.Pos, cfg *Config) int64 {
	if length.NS == 0 || !b.load.busy(now, cfg) {
		return from
	}
	demand := b.load.demand(now, cfg.Delta)
	end := max(from, now+cfg.Delta)
	bound := b.rule.Bound(t).Ceil() + cfg.Delta
	if demand >= float64(bound-end) {
		return bound
	}
	return end + int64(demand)
}

// send puts a reservation in flight, in place of one that may be so.
func (o *Owner) send(b *bucket, s Send, now int64, out *Out) *pending {
	s.Limit, s.Seq, s.Epoch, s.Reach = b.rule.Name, o.cfg.NextSeq(), o.epoch, b.rule.Reach()
	s.Inline = b.rule.Inline
	t := b.open(out)
	t.flight = pending{Send: s, askedAt: now, sentAt: now, resendAt: o.cfg.resendAt(now)}
	t.pending = &t.flight
	out.Sends = append(out.Sends, s)
	return t.pending
}

// resend does what has become due with the reservation in flight: it is sent again when its answers stay away, as long
// as anybody waits, and given up when it was refused and it costs little to leave out who stays silent.
func (o *Owner) resend(b *bucket, now int64, out *Out) {
	t := b.talk()
	if t == nil {
		return
	}
	t.paused = false
	p := t.pending
	switch {
	case p == nil:
	case now >= b.silentAt(p, o.cfg):
		o.giveUp(b, now, true, out)
	case now < p.resendAt:
	case o.Waiting() == 0:
		t.pending = nil
	default:
		p.renew(now, o.cfg)
		out.Sends = append(out.Sends, p.Send)
	}
}

// far is by how much it lies ahead of the time at which it was asked for.
func (p *pending) far() stretch { return stretchOf(p.To - p.askedAt) }

// renew is for a reservation that is sent again: who did not serve it may do so now.
func (p *pending) renew(now int64, cfg *Config) {
	p.inVain, p.sentAt, p.resendAt = false, now, cfg.resendAt(now)
	for i := range p.replies {
		if v := &p.replies[i]; !v.tells() || *v == Skewed {
			*v = 0
		}
	}
}

// resendAt is when what is sent now is sent again without answers.
func (c *Config) resendAt(now int64) int64 {
	if c.Resend == 0 {
		return math.MaxInt64
	}
	return now + c.Resend
}

// due is when the bucket wants to be woken.
func (b *bucket) due(cfg *Config) int64 {
	due := int64(math.MaxInt64)
	t := b.talk()
	if t == nil {
		return due
	}
	if p := t.pending; p != nil {
		due = min(b.silentAt(p, cfg), p.resendAt)
	} else if t.paused {
		due = t.retryAt
	}
	return due
}
