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

	heard   []heard  // by replica
	pending *pending // the reservation in flight, if there is one
	hint    int64    // where a retry begins: what those who answered the refused reservation would accept
	retryAt int64    // after a refusal, reserve nothing before this time
	tries   uint8    // refusals in a row
	paused  bool     // something waits for retryAt

	demand   float64 // line spent in the last Δ, in nanoseconds, exponentially weighted
	demandAt int64   // when demand was reckoned

	returns *returns // receipts and credit, once there are any
	recent  []limit.Recent
}

// maxRecent is how many of its last decisions a bucket remembers, for people who ask why.
const maxRecent = 8

func (b *bucket) remember(t, cost int64, allowed bool) {
	if len(b.recent) == maxRecent {
		copy(b.recent, b.recent[1:])
		b.recent = b.recent[:maxRecent-1]
	}
	b.recent = append(b.recent, limit.Recent{At: t, Cost: cost, Allowed: allowed})
}

func newBucket(rule *limit.Rule, cfg *Config) *bucket {
	return &bucket{rule: rule, heard: make([]heard, cfg.Replicas)}
}

// change puts the bucket under another rule of the same name. What is spent stays spent: debt is measured in time. A
// position heard under the old rule may hold the old rule's reach in it, so the replicas must be heard anew.
func (b *bucket) change(rule *limit.Rule) {
	if !rule.Same(b.rule) {
		b.returns = nil
	}
	b.tat = rule.Carry(b.rule, b.tat)
	b.rule = rule
	clear(b.heard)
	b.hint = 0
}

// adopt enters a newer generation, of which nothing is known yet: the bucket has been reset.
func (b *bucket) adopt(generation int64) {
	*b = bucket{
		rule: b.rule, gen: generation, heard: b.heard,
		demand: b.demand, demandAt: b.demandAt, tries: b.tries, retryAt: b.retryAt, recent: b.recent,
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
	if len(b.heard) == 1 {
		return b.position(b.heard[0])
	}
	var positions [MaxReplicas]int64
	for i, h := range b.heard {
		positions[i] = b.position(h)
	}
	sorted := positions[:len(b.heard)]
	slices.Sort(sorted)
	return sorted[cfg.majority()-1]
}

// What a bucket says to a check.
type verdict uint8

const (
	admit verdict = iota + 1
	deny
	wait  // for the line up to need
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
	credit := b.credit(t)
	spent := b.tat
	fresh := length // of the length, what must be line that was never spent
	if credit != (limit.Pos{}) {
		spent = r.Sub(b.tat, credit)
		fresh = limit.Later(limit.Pos{}, r.Sub(length, credit))
	}
	end := r.End(spent, t, length)
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
	from := max(b.held.to, b.known(cfg), b.hint, t)
	if from > b.held.to {
		end = r.Add(limit.At(from), length)
		top = end
	}
	if end.After(bound) {
		return result{verdict: deny, end: end}
	}
	return result{verdict: wait, end: end, need: top, from: from}
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
	if b.returns != nil {
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

// outcome describes the bucket after a decision at t.
func (b *bucket) outcome(t, cost int64, end limit.Pos, allowed bool) limit.Outcome {
	tat := b.tat
	if credit := b.credit(t); credit != (limit.Pos{}) {
		tat = b.rule.Sub(tat, credit)
	}
	if !allowed && b.held.to <= t {
		// Nothing is held: the replicas' word is all that is known of what is spent.
		length := b.rule.Length(cost)
		if cost <= b.rule.Capacity {
			tat = limit.Later(tat, b.rule.Sub(end, length))
		}
	}
	return b.rule.Outcome(tat, t, cost, end, allowed)
}

// note counts a check at t into the demand.
func (b *bucket) note(t int64, length limit.Pos, cfg *Config) {
	b.demand = b.demandNow(t, cfg) + float64(length.NS)
	b.demandAt = max(t, b.demandAt)
}

// demandNow is the line spent in the Δ before t. Between checks it fades linearly, which for checks that follow one
// another closely is the same as exponentially.
func (b *bucket) demandNow(t int64, cfg *Config) float64 {
	since := max(t-b.demandAt, 0)
	if since >= cfg.Delta {
		return 0
	}
	return b.demand * (1 - float64(since)/float64(cfg.Delta))
}

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
