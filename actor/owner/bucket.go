package owner

import (
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A segment is the piece (from, to] of the line; empty if from = to.
type segment struct{ from, to int64 }

// A heard is the latest that a replica said of its register.
type heard struct{ generation, position int64 }

// A bucket is one limit of the key, as its owner knows it.
type bucket struct {
	rule *limit.Rule
	gen  int64 // generation

	tat  limit.Pos // the line is spent up to here
	held segment   // reserved: what is left of it is the line from max(tat, held.from) to Hi = held.to
	next segment   // reserved too, and not touching Hi: entered only when the held one cannot serve
	jump int64     // where the stretch that ends at Hi began: there the line was last skipped

	heard   [MaxReplicas]heard // by replica
	pending *pending           // the reservation in flight, if there is one
	refused *refusal           // the reservation given up last, until one is accepted
	retryAt int64              // after a refusal, reserve nothing before this time
	tries   uint8              // refusals in a row
	skewed  bool               // the last one because of the clock
	paused  bool               // something waits for retryAt

	demand   float64 // line spent in the last Δ, in nanoseconds, exponentially weighted
	checks   float64 // checks in the last Δ, likewise
	demandAt int64   // when both were reckoned

	returns *returns // receipts and credit, once there are any
	recent  recent
}

// recent is a bucket's last decisions, for people who ask why: a ring.
type recent struct {
	last [8]limit.Recent
	n    int // ever remembered
}

func (r *recent) remember(t, cost int64, allowed bool) {
	r.last[r.n%len(r.last)] = limit.Recent{At: t, Cost: cost, Allowed: allowed}
	r.n++
}

// list is what is remembered, the newest last.
func (r *recent) list() []limit.Recent {
	var all []limit.Recent
	for i := max(r.n-len(r.last), 0); i < r.n; i++ {
		all = append(all, r.last[i%len(r.last)])
	}
	return all
}

// change puts the bucket under another rule of the same name. What is spent stays spent: debt is measured in time. A
// position heard under the old rule may hold the old rule's reach in it, so the replicas must be heard anew.
func (b *bucket) change(rule *limit.Rule) {
	if !rule.Same(b.rule) {
		b.returns = nil
	}
	b.tat = rule.Carry(b.rule, b.tat)
	b.rule = rule
	b.heard = [MaxReplicas]heard{}
	b.refused = nil
}

// adopt enters a newer generation, of which nothing is known yet: the bucket has been reset.
func (b *bucket) adopt(generation int64) {
	*b = bucket{
		rule: b.rule, gen: generation, heard: b.heard,
		tries: b.tries, retryAt: b.retryAt, demand: b.demand, checks: b.checks, demandAt: b.demandAt, recent: b.recent,
	}
}

// position is what a replica would accept from on in this generation. What it reserved under an older one no longer
// counts if the reset knew of it.
func (b *bucket) position(h heard) int64 {
	if h.generation < b.gen && h.position <= b.gen {
		return 0
	}
	return h.position
}

// known is the W-th smallest of the replicas' positions: the least from that a majority would accept. The largest would
// let one replica with a floor empty every bucket.
func (b *bucket) known(cfg *Config) int64 {
	if cfg.Replicas == 1 {
		return b.position(b.heard[0])
	}
	var positions [MaxReplicas]int64
	for i, h := range b.heard {
		positions[i] = b.position(h)
	}
	sorted := positions[:cfg.Replicas]
	slices.Sort(sorted)
	return sorted[cfg.majority()-1]
}

// What a bucket says to a check.
type verdict uint8

const (
	admit verdict = iota + 1
	deny
	wait  // for the line up to need
	hold  // until more replicas have answered: what they have said so far is not yet to be relied on
	enter // the next segment, and ask again
)

type result struct {
	verdict verdict
	end     limit.Pos // where the check would end the spent line; a denial is explained by it
	need    limit.Pos // how far the line must be reserved, if it has to wait
	from    int64     // from where
}

// test says what the bucket would do with a check of cost and length at t. It changes nothing.
func (b *bucket) test(t, cost int64, length limit.Pos, cfg *Config) result {
	r := b.rule
	bound := r.Bound(t)
	fresh := length // of the length, what must be line that was never spent
	if credit := b.credit(t); credit != (limit.Pos{}) {
		fresh = limit.Later(limit.Pos{}, r.Sub(length, credit))
	}
	end := r.End(b.spentAt(t), t, length)
	if end.After(bound) || cost > r.Capacity {
		return result{verdict: deny, end: end}
	}
	top := r.End(b.tat, t, fresh)
	if !top.After(limit.At(b.held.to)) {
		return result{verdict: admit, end: end}
	}
	if b.next.to > b.next.from {
		end = r.End(limit.Later(b.tat, limit.At(b.next.from)), t, length)
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: enter, end: end}
	}
	if b.pending != nil {
		return result{verdict: hold, end: end}
	}
	free := max(b.held.to, b.known(cfg), t)
	from := max(free, b.hint(t, cfg))
	if from > b.held.to {
		end = r.Add(limit.At(from), length)
		top = end
	}
	switch {
	case !end.After(bound):
		return result{verdict: wait, end: end, need: top, from: from}
	case from > free && !b.refused.sure:
		return result{verdict: hold, end: end}
	}
	return result{verdict: deny, end: end}
}

// enterNext leaves what remains of the held segment and goes on with the next one.
func (b *bucket) enterNext() {
	b.extend(b.next)
	b.next = segment{}
}

// extend takes in a segment that was reserved. One that does not touch the held one begins a new stretch of line.
func (b *bucket) extend(s segment) {
	if s.from > b.held.to {
		b.tat = limit.Later(b.tat, limit.At(s.from))
		b.jump = s.from
		b.returns = nil
	}
	b.held = s
}

// spend takes length off the line at t, returned line first, and says which pieces of the line these are. The caller
// has tested that it may.
func (b *bucket) spend(t int64, length limit.Pos) spent {
	var reuses []piece
	if b.returns != nil && t >= b.returns.since {
		b.returns.cap(b.rule, b.creditCap(t))
		reuses, length = b.returns.take(b.rule, length)
	}
	start := limit.Later(b.tat, limit.At(t))
	if length == (limit.Pos{}) {
		start = b.tat
	}
	b.tat = b.rule.Add(start, length)
	return spent{piece: piece{start, b.tat}, reuses: reuses}
}

// outcome describes the bucket to a check that was not admitted, and that would have ended at end: before its span the
// line is spent, as far as this bucket knows.
func (b *bucket) outcome(c *Check, t *trial) limit.Outcome {
	spent := b.spentAt(c.At)
	if c.Cost <= b.rule.Capacity {
		spent = b.rule.Sub(t.end, t.length)
	}
	return b.rule.Outcome(spent, c.At, c.Cost, t.end, t.verdict != deny)
}

// spentAt is up to where the line counts as spent at t: returned line does not.
func (b *bucket) spentAt(t int64) limit.Pos {
	if credit := b.credit(t); credit != (limit.Pos{}) {
		return b.rule.Sub(b.tat, credit)
	}
	return b.tat
}

// note counts a check at t into the demand.
func (b *bucket) note(t int64, length limit.Pos, cfg *Config) {
	fade := b.fade(t, cfg)
	b.demand = b.demand*fade + float64(length.NS)
	b.checks = b.checks*fade + 1
	b.demandAt = max(t, b.demandAt)
}

// fade is what is left at t of what was reckoned at demandAt. Between checks it falls linearly, which for checks that
// follow one another closely is the same as exponentially.
func (b *bucket) fade(t int64, cfg *Config) float64 {
	since := max(t-b.demandAt, 0)
	if since >= cfg.Delta {
		return 0
	}
	return 1 - float64(since)/float64(cfg.Delta)
}

// demandNow is the line spent in the Δ before t.
func (b *bucket) demandNow(t int64, cfg *Config) float64 { return b.demand * b.fade(t, cfg) }

// busy says whether there were enough checks in the Δ before t to reserve ahead.
func (b *bucket) busy(t int64, cfg *Config) bool { return b.checks*b.fade(t, cfg) >= float64(cfg.Busy) }

// busyUntil is when the bucket could be forgotten without loss, now or earlier if it can be at once.
func (b *bucket) busyUntil(now int64, cfg *Config) int64 {
	if b.pending != nil {
		return math.MaxInt64
	}
	until := b.next.to
	if b.tat.Ceil() < b.held.to {
		until = max(until, b.held.to)
	}
	if b.returns != nil && b.tat.NS >= now {
		until = max(until, min(b.tat.Ceil(), b.demandAt+cfg.ReturnFor))
	}
	return until
}
