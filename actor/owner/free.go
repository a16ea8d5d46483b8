package owner

import (
	"math"
	"math/bits"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Where a reservation begins follows from one question: from where on would a majority of the replicas say yes? The answer
// is the W-th smallest of their positions. What differs is which replicas count.
//
// Line that an owner skips is burned: no owner can spend it. So a replica that has not answered counts with the last
// position that it reported, or with 0, and is asked again. Without it, the reservation would begin where all other replicas
// say yes. That may be the end of the bucket: one of them may have a floor, or a segment of an owner that was cut off.

// A quorum says which replicas count.
type quorum uint8

const (
	// all replicas count. Resets and reservations ahead begin where all count: they skip nothing.
	all quorum = iota
	// notLost leaves out those that are known to be lost.
	notLost
	// responding leaves out those that are silent too, and those that accept nothing from this owner, wherever it begins: its clock
	// differs from theirs, or they have no room.
	responding
)

// leavesOut says whether a replica that gave this verdict does not count.
func (q quorum) leavesOut(v Verdict) bool {
	switch q {
	case notLost:
		return v == Lost || v == Gone
	case responding:
		return !v.hasPosition() || v == Skewed || v == Full
	default:
		return false
	}
}

// free is from where on a majority would accept a reservation of that generation, as far as the replicas that count have
// reported. p is the last reservation, whose answers tell which replicas are lost or silent; nil if that does not matter.
// Where the replicas that count are no majority, all count.
func (b *bucket) free(generation int64, q quorum, p *pending, cfg *Config) int64 {
	var room [MaxReplicas]int64
	positions := room[:0]
	for i := range cfg.Replicas {
		switch {
		case p == nil:
			positions = append(positions, b.latest(i).freeIn(generation))
		case q.leavesOut(p.replies[i]):
		case p.replies[i] == Accepted && p == b.pending():
			positions = append(positions, p.From) // it accepts p again
		default:
			positions = append(positions, b.latest(i).freeIn(generation))
		}
	}
	if len(positions) < cfg.majority() {
		return b.free(generation, all, nil, cfg)
	}
	slices.Sort(positions)
	return positions[cfg.majority()-1]
}

// forgotten says whether so many replicas have refused the last reservation behind a floor that no majority is without one: what the
// bucket had is lost. Line that is free only far ahead tells nothing of that: an owner whose clock is ahead may have reserved up to there.
// Nor does what replicas said before: by other clocks than this owner's the floors may be over.
func (b *bucket) forgotten(cfg *Config) bool {
	r := b.refused()
	return r != nil && bits.OnesCount8(r.floored) > cfg.tolerated()
}

// start is where a check of t that begins at at would begin to reserve.
func (b *bucket) start(t, at int64, cfg *Config) int64 {
	from := max(b.held.to, b.rule.Begin(at))
	r := b.refused()
	if r == nil || t >= r.until {
		return max(from, b.free(b.gen, all, nil, cfg))
	}
	near := b.free(b.gen, notLost, &r.pending, cfg)
	if far := b.free(b.gen, responding, &r.pending, cfg); r.waited && far-max(near, from) <= b.maxSkip(cfg) {
		near = max(near, far)
	}
	return max(from, near)
}

// tokensUpTo is how many tokens, of a rule of the bucket, a check of t can spend, as of at, of the line up to bound: where this owner would go on,
// or of what it holds, where a majority would accept only what begins further on.
func (b *bucket) tokensUpTo(by *limit.Rule, bound limit.Pos, t, at int64, cfg *Config) int64 {
	spent, next := by.Carry(b.rule, b.spentAt(t)), b.start(t, at, cfg)
	if next <= max(b.held.to, b.rule.Begin(at)) {
		return by.TokensUpTo(bound, spent, at)
	}
	return max(by.TokensUpTo(limit.At(b.held.to), spent, at), by.TokensUpTo(bound, limit.Later(spent, limit.At(next)), at))
}

// maxSkip is how much line a check may skip rather than wait for a silent replica: what a rival may have reserved beyond what it needs,
// and besides a twentieth of the bucket, and at least one token and what refills in 2·Δ. So a rival that is frozen is not in the way.
func (b *bucket) maxSkip(cfg *Config) int64 {
	if b.ledger() != nil {
		return cfg.Slack // its line is worth nothing, but claims further on are not accepted: the bucket would be closed
	}
	return b.rule.SpareLine() + max(b.rule.Length(b.rule.Capacity).Ceil()/20, b.rule.Length(1).Ceil(), 2*cfg.Delta)
}

// beyond says whether a majority has told that it would accept p only if it began further on: sent again, it would not come
// about.
func (b *bucket) beyond(p *pending, cfg *Config) bool {
	return p.count().said() >= cfg.majority() && b.free(p.Generation, notLost, p, cfg) > p.From
}

// silentAt is when p is given up for want of a silent replica: a while after the last answer, if a majority has told from
// where on it would accept, and that skips little. Otherwise p waits for the replica to answer, or to be lost.
func (b *bucket) silentAt(p *pending, cfg *Config) int64 {
	if !p.stuck(cfg) || p.reset || b.free(p.Generation, responding, p, cfg)-p.From > b.maxSkip(cfg) {
		return math.MaxInt64
	}
	return p.heardAt + silence
}
