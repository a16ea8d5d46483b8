package owner

import (
	"fmt"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	silence    = int64(5e6) // after one refusal, how long to wait for the other replicas
	firstPause = int64(1e6) // the most that the first retry waits; it doubles with each further one …
	maxDouble  = 3          // … this many times, up to 8 ms
	busyChecks = 4          // a key with fewer checks than this in Δ reserves exactly what it spends
)

// What waits is answered with one of these when a majority cannot accept anything from this owner.
var (
	errSkewed = fmt.Errorf("%w: this node's clock differs too much from its replicas'", limit.ErrUnavailable)
	errLost   = fmt.Errorf("%w: too few replicas can answer", limit.ErrUnavailable)
)

// A pending reservation waits for a majority. A bucket has at most one.
type pending struct {
	Send
	reset   bool
	sentAt  int64
	replies [MaxReplicas]reply
}

type reply struct {
	verdict  Verdict // 0: no answer yet
	position int64
}

// A Verdict is what a replica said to a reservation.
type Verdict uint8

// The verdicts that an owner tells apart.
const (
	Accepted Verdict = iota + 1
	Refused          // the line is not free, or the epoch is not this one
	Skewed           // this owner's clock differs too much from the replica's
	Reset            // the bucket has entered a newer generation
	Lost             // the replica will not answer: it has ended
)

// An Answer is what one replica says to a Send.
type Answer struct {
	Replica    int // its index, below Config.Replicas
	Limit      string
	Seq        uint64
	Verdict    Verdict
	Position   int64 // To when accepted; otherwise from where on the replica's line is free
	Generation int64 // what Position is for
}

// reserve sends for the line that a waiting check needs, unless a reservation is in flight or a refusal is too recent.
func (o *Owner) reserve(t *trial, at, now int64, out *Out) {
	b := t.bucket
	if b.pending != nil || b.pausing(now) {
		return
	}
	to := max(t.need.Ceil(), b.ahead(t.from, at, now, t.length, o.cfg))
	o.send(b, &pending{Send: Send{Generation: b.gen, From: t.from, To: to}}, now, out)
}

// reserveAhead reserves the next segment of a busy key in the background, once a quarter of the held one is left, so
// that a hot key never waits.
func (o *Owner) reserveAhead(b *bucket, now int64, length limit.Pos, out *Out) {
	if b.pending != nil || b.next.to > b.next.from || now < b.retryAt {
		return
	}
	left, whole := b.held.to-max(b.tat.NS, now), b.held.to-b.held.from
	if left > whole/4 {
		return
	}
	from := max(b.held.to, b.known(o.cfg), now)
	if to := b.ahead(from, now, now, length, o.cfg); to > from {
		o.send(b, &pending{Send: Send{Generation: b.gen, From: from, To: to, Background: true}}, now, out)
	}
}

// ahead is up to where a key reserves beyond what it needs: what it will spend and what will pass in the next Δ, but
// not further than Δ beyond what could be spent now. A key that is not busy reserves nothing ahead, so that it loses
// nothing when its owner dies.
func (b *bucket) ahead(from, t, now int64, length limit.Pos, cfg *Config) int64 {
	demand := b.demandNow(now, cfg)
	if length.NS == 0 || demand < busyChecks*float64(length.NS) {
		return from
	}
	end := max(from, now+cfg.Delta)
	bound := b.rule.Bound(t).Ceil() + cfg.Delta
	if demand >= float64(bound-end) {
		return bound
	}
	return end + int64(demand)
}

// pausing says whether a refusal is too recent to reserve again; if so, the owner is woken when it is not any more.
func (b *bucket) pausing(now int64) bool {
	b.paused = now < b.retryAt
	return b.paused
}

func (o *Owner) send(b *bucket, p *pending, now int64, out *Out) {
	p.Limit, p.Seq, p.Epoch, p.Reach, p.sentAt = b.rule.Name, o.cfg.NextSeq(), o.epoch, b.rule.Reach(), now
	b.pending = p
	out.Sends = append(out.Sends, p.Send)
}

// Answer takes in what a replica says to a Send, and decides the checks that can now be decided. Late answers, to
// reservations that were given up, teach the replica's position and nothing else.
func (o *Owner) Answer(a Answer, now int64, out *Out) {
	b := o.find(a.Limit)
	if b == nil || a.Replica < 0 || a.Replica >= len(b.heard) {
		return
	}
	if a.Verdict == Reset && a.Generation > b.gen {
		b.adopt(a.Generation)
	}
	if a.Verdict != Lost {
		b.hear(a)
	}
	if p := b.pending; p != nil && p.Seq == a.Seq && p.replies[a.Replica].verdict == 0 {
		p.replies[a.Replica] = reply{a.Verdict, a.Position}
		switch accepted, refused := p.count(); {
		case accepted >= o.cfg.majority():
			o.take(b, p)
		case refused > o.cfg.Replicas-o.cfg.majority():
			o.giveUp(b, now, out)
		}
	}
	o.run(now, out)
}

// hear keeps the latest of what a replica said.
func (b *bucket) hear(a Answer) {
	h := &b.heard[a.Replica]
	if a.Generation > h.generation || a.Generation == h.generation && a.Position > h.position {
		*h = heard{a.Generation, a.Position}
	}
}

func (p *pending) count() (accepted, refused int) {
	for _, r := range p.replies {
		switch r.verdict {
		case Accepted:
			accepted++
		case Refused, Skewed, Reset, Lost:
			refused++
		}
	}
	return accepted, refused
}

// take enters the segment that a majority has accepted.
func (o *Owner) take(b *bucket, p *pending) {
	b.pending, b.tries, b.hint = nil, 0, 0
	s := segment{p.From, p.To}
	switch {
	case p.reset:
		o.didSeq = p.Seq
		b.adopt(p.Generation)
		b.extend(s)
	case p.Background && s.from > b.held.to:
		b.next = s
	default:
		b.extend(s)
	}
}

// giveUp drops a reservation that a majority cannot accept any more. It is never spent, even if it is accepted later.
// The next try begins where a majority of those who answered would accept, after a random pause: two owners of equal
// timing would refuse each other for ever.
func (o *Owner) giveUp(b *bucket, now int64, out *Out) {
	p := b.pending
	b.pending = nil
	var positions []int64
	skewed, lost := 0, 0
	for _, r := range p.replies {
		switch r.verdict {
		case Accepted, Refused, Reset:
			positions = append(positions, r.position)
		case Skewed:
			positions = append(positions, r.position)
			skewed++
		case Lost:
			lost++
		}
	}
	w := o.cfg.majority()
	if len(positions) >= w {
		slices.Sort(positions)
		b.hint = positions[w-1]
	}
	b.retryAt = now + o.cfg.Rand(firstPause<<min(b.tries, maxDouble))
	if b.tries < math.MaxUint8 {
		b.tries++
	}
	switch most := o.cfg.Replicas - w; {
	case skewed > most:
		o.fail(errSkewed, out)
	case lost > most:
		o.fail(errLost, out)
	}
}

// resend repeats a reservation whose answers stay away, and gives up one that was refused and stays without the rest.
func (o *Owner) resend(b *bucket, now int64, out *Out) {
	b.paused = false
	p := b.pending
	if p == nil {
		return
	}
	accepted, refused := p.count()
	switch answered := accepted + refused; {
	case refused > 0 && now >= p.sentAt+silence && answered >= o.cfg.majority():
		o.giveUp(b, now, out)
	case o.cfg.Resend > 0 && now >= p.sentAt+o.cfg.Resend:
		p.sentAt = now
		out.Sends = append(out.Sends, p.Send)
	}
}

// due is when the bucket wants to be woken.
func (b *bucket) due(cfg *Config) int64 {
	due := int64(math.MaxInt64)
	if p := b.pending; p != nil {
		accepted, refused := p.count()
		if refused > 0 && accepted+refused >= cfg.majority() {
			due = min(due, p.sentAt+silence)
		}
		if cfg.Resend > 0 {
			due = min(due, p.sentAt+cfg.Resend)
		}
	} else if b.paused {
		due = min(due, b.retryAt)
	}
	return due
}

// reset brings a bucket into a newer generation, in which nothing is spent, and says whether that is done. The new
// generation is itself a position on the line: everything that was reserved up to it counts no longer. It lies beyond
// all that any owner can have reserved by now, so no late message of the old generation can count again.
func (o *Owner) reset(w *waiter, now int64, out *Out) bool {
	b := o.bucket(w.reset)
	switch {
	case w.resetSeq != 0 && w.resetSeq == o.didSeq:
		out.Replies = append(out.Replies, Reply{Tag: w.Tag})
		return true
	case b.pending != nil && b.pending.reset, b.pausing(now):
		return false
	}
	if w.resetSeq == 0 {
		b.hint = 0 // it speaks of the old generation
	}
	generation := max(now+b.rule.Reach()+o.cfg.Slack, b.gen+1, b.held.to, b.next.to)
	for _, h := range b.heard {
		generation = max(generation, h.generation, h.position)
	}
	from := max(now, b.hint)
	// Whatever was in flight belongs to the old generation, and is dropped.
	o.send(b, &pending{Send: Send{Generation: generation, From: from, To: from}, reset: true}, now, out)
	w.resetSeq = b.pending.Seq
	return false
}
