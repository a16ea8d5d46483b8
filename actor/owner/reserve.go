package owner

import (
	"slices"
	"time"

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
		to = b.ahead(max(t.need.Ceil(), o.neededByWaiting(b, t.need, at)), at, now, t.length, o.cfg)
	}
	o.send(b, Send{Generation: b.gen, From: t.from, To: to, Reach: t.reach}, now, out).waits = t.waits
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
			if w.Wait > 0 { // which this limit allows, and another one may not
				bound = limit.Later(bound, b.rule.Bound(w.At+w.Wait))
			}
		}
		for j := range w.settles {
			if s := &w.settles[j]; s.Used > s.Granted && !b.differs(s.Rule) {
				need = b.rule.Add(need, b.rule.Length(s.Used-s.Granted))
			}
		}
		if need.After(bound) {
			return bound.Ceil()
		}
	}
	return need.Ceil()
}

// maxAheads is how often in a row line is reserved ahead that replicas refuse, before it is left to a check that needs it: each try may leave
// line that nobody spends at a replica that accepts it.
const maxAheads = 3

// reserveAhead reserves the next segment of a busy key in the background, once a quarter of the held one is left, so
// that a hot key never waits. At is when the last check begins that was admitted: line is reserved behind the checks that wait.
func (o *Owner) reserveAhead(b *bucket, now, at int64, out *Out) {
	if !b.busy(now, o.cfg) || !b.runsOut(now, o.cfg) {
		return
	}
	begin := b.rule.Begin(now)
	if begin-b.rule.Begin(at) > now-at {
		return // a window has begun since: behind this check others may wait that spend of the one before
	}
	if t := b.replication(); t != nil {
		if t.pending != nil || t.next.to > max(t.next.from, begin) || now < t.retryAt || t.tries >= maxAheads {
			return
		}
		t.next = segment{} // one that no check needed in time
	}
	from := max(b.held.to, b.free(b.gen, all, nil, o.cfg), begin)
	need := from - max(0, b.held.to-max(b.tat.Ceil(), begin)) // what is left of the held one may be lost too
	if to := b.ahead(need, max(now, at), now, limit.Pos{}, o.cfg); to > from {
		o.send(b, Send{Generation: b.gen, From: from, To: to, Background: true}, now, out)
	}
}

// runsOut says whether no more than a quarter is left of what the bucket holds, or nothing of it is of the window that begins within Δ.
func (b *bucket) runsOut(now int64, cfg *Config) bool {
	begin, next := b.rule.Begin(now), b.rule.Begin(now+cfg.Delta)
	left, whole := b.held.to-max(b.tat.NS, begin), b.held.to-b.held.from
	return left <= whole/4 || next-begin > cfg.Delta && b.held.to <= next
}

// ahead is up to where a bucket reserves that needs its line up to need, for a check of that length: beyond that as much as its owner may
// lose, but no more than the bucket will spend in the next seconds, as it looks, or what of its line will pass in them if half of it is left. It does so where the bucket is spent from, unless a rival is there, who would
// find the line gone. Where it is busy it does so whoever is there: then its owner may lose the tokens of Δ at least, and reserves what will
// pass in the next Δ too. Nothing is reserved beyond what could be spent in Δ, nor
// what will not have passed after awakeFor, unless the bucket is busy and spends it in Δ.
func (b *bucket) ahead(need, t, now int64, length limit.Pos, cfg *Config) int64 {
	spending, busy := b.spendsAlone(length, now), b.busy(now, cfg)
	if b.rule.Exact() || !spending && !busy {
		return need
	}
	end, likely, most, passes := need, float32(0), b.rule.SpareLine(), b.rule.Begin(now)+awakeFor
	if busy {
		next := b.rule.Begin(now + cfg.Delta)
		end, likely, most = max(end, next), b.load.demand(now, cfg.Delta), max(most, b.rule.Whole(cfg.Delta))
		passes = max(next+awakeFor, end+atMost(likely, most))
	}
	if spending {
		likely = max(likely, b.load.soon(now))
		if begin, bound := b.rule.Begin(now), b.rule.Bound(now).Ceil(); bound-need >= (bound-begin)/2 {
			likely = max(likely, float32(begin+horizon-need))
		}
	}
	end = min(end+atMost(likely, most), passes)
	return max(need, min(end, b.rule.Bound(t+cfg.Delta).Ceil()))
}

// atMost is line that may be more than most, and then is most.
func atMost(line float32, most int64) int64 { return int64(min(float64(line), float64(most))) }

// awakeFor is how long an owner may have to stay awake for line that no check needed: until that has passed. For what a busy bucket spends in Δ,
// it may be longer.
const awakeFor = int64(10 * time.Minute)

// rivalFor is how long a rival that was heard of is taken to be there.
const rivalFor = int64(time.Second)

// spendsAlone says whether the bucket was spent from lately, before a check of that length, and no rival is there: none was heard of
// in the last second, and no reservation was refused since one was accepted.
func (b *bucket) spendsAlone(length limit.Pos, now int64) bool {
	x := b.extra
	if x != nil && x.rivalAt <= now-rivalFor {
		x.rivalAt = 0
	}
	if x != nil && (x.rivalAt != 0 || x.replication != nil && (x.replication.tries > 0 || x.replication.refused != nil)) {
		return false
	}
	return b.load.spentBesides(length, now)
}

// send puts a reservation in flight, in place of one that may be so.
func (o *Owner) send(b *bucket, s Send, now int64, out *Out) *pending {
	s.Limit, s.Seq, s.Epoch, s.Reach = b.rule.Register(), o.cfg.NextSeq(), o.epoch, max(s.Reach, b.rule.Reach())
	s.Inline = b.rule.Inline
	if lead := max(b.rule.Lead(), s.Reach); lead != s.Reach {
		s.Lead = lead
	}
	t := b.startReplication(out)
	t.flight = pending{Send: s, askedAt: now, sentAt: now, resendAt: o.cfg.resendAt(now)}
	t.pending = &t.flight
	out.Sends = append(out.Sends, s)
	return t.pending
}
