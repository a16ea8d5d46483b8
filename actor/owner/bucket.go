package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A segment is the piece (from, to] of the line; empty if from = to.
type segment struct{ from, to int64 }

// A bucket is one limit of the key, as its owner knows it. What it holds itself is what every bucket needs that was
// checked once.
type bucket struct {
	rule *limit.Rule
	gen  int64 // generation

	tat  limit.Pos // the line is spent up to here
	held segment   // reserved: what is left of it is the line from max(tat, held.from) to Hi = held.to

	load  load
	last  decision
	far   stretch // by how much what is held lay ahead when it was reserved, at most
	agree uint8   // without a talk: bit i says that replica i spoke last of gen and Hi, not set that it never spoke
	extra *extra  // nil for nothing of it
}

// extra is what only some buckets have.
type extra struct {
	returns *returns // receipts and credit, once there are any
	talk    *talk    // with the replicas, while there is more to it than all buckets hold
	older   older
}

func (b *bucket) extras() *extra {
	if b.extra == nil {
		b.extra = &extra{}
	}
	return b.extra
}

// differs says whether rule is another one than the bucket's.
func (b *bucket) differs(rule *limit.Rule) bool { return b.rule != rule && *b.rule != *rule }

// change puts the bucket under another rule of the same name. What is spent stays spent: debt is measured in time. Other
// numbers end the stretch: a receipt proves tokens of its own time, and what came back in those is not tokens of this. A
// position heard under the old rule may hold the old rule's reach in it, so the replicas must be heard anew.
//
// What could not have been reserved under the new rule when it was is given up: replicas that forget keep by their floors what
// can have been reserved under the rule that is asked for, and would give what lies beyond to another owner.
func (b *bucket) change(rule *limit.Rule, cfg *Config) {
	t, longer := b.talk(), b.rule.Reach()
	if rule.Capacity != b.rule.Capacity || rule.Refill != b.rule.Refill {
		b.forgetReturns()
	}
	b.tat = rule.Carry(b.rule, b.tat)
	b.rule = rule
	b.agree = 0
	if over := b.far.over(rule, longer, cfg); over > 0 {
		to := b.held.to - over
		if limit.At(b.held.from).After(b.tat) { // some is left of what was held before, which may have been as far
			to = b.tat.Ceil()
		}
		b.held.to = min(b.held.to, max(to, b.tat.Ceil()))
		b.held.from = min(b.held.from, b.held.to)
		b.far = min(b.far, stretchOf(rule.Reach()+cfg.Delta))
	}
	if t != nil {
		if t.nextFar.over(rule, longer, cfg) > 0 {
			t.next = segment{}
		}
		t.heard = [MaxReplicas]heard{}
		t.refused = nil
	}
}

// adopt enters a newer generation, of which nothing is known yet: the bucket has been reset.
func (b *bucket) adopt(generation int64, out *Out) {
	t := b.open(out)
	*t = talk{heard: t.heard, tries: t.tries, retryAt: t.retryAt}
	b.forgetReturns()
	b.gen, b.tat, b.held = generation, limit.Pos{}, segment{}
}

// What a bucket says to a check.
type verdict uint8

const (
	admit verdict = iota + 1
	deny
	wait  // for the line up to need
	hold  // until the reservation in flight has come to an end
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
	if next := b.next(); next.to > next.from {
		end = r.End(limit.Later(b.tat, limit.At(next.from)), t, length)
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: enter, end: end}
	}
	if cost == 0 {
		return b.peek(t, bound, cfg)
	}
	if b.pending() != nil {
		return result{verdict: hold, end: end}
	}
	from := b.start(t, cfg)
	if from > b.held.to {
		end = r.Add(limit.At(from), length)
		top = end
	}
	switch refused := b.refused(); {
	case end.After(bound):
		return result{verdict: deny, end: end}
	case refused != nil && t >= refused.until && refused.missing(cfg):
		top = limit.At(from) // it was refused once: ask whether the line is free, and take none of it
	}
	return result{verdict: wait, end: end, need: top, from: from}
}

// peek is test for a check of no cost. It takes no line: it asks the replicas whether the line is free from t on, and what
// they say to that is its answer.
func (b *bucket) peek(t int64, bound limit.Pos, cfg *Config) result {
	r := b.refused()
	switch {
	case r != nil && r.sentAt >= t:
		end := limit.At(b.start(t, cfg))
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: admit, end: end}
	case b.pending() != nil:
		return result{verdict: hold, end: limit.At(t)}
	}
	return result{verdict: wait, end: limit.At(t), need: limit.At(t), from: t}
}

// enterNext leaves what remains of the held segment and goes on with the next one.
func (b *bucket) enterNext() {
	t := b.talk()
	b.extend(t.next, t.nextFar)
	t.next = segment{}
}

// extend takes in a segment that was reserved so far ahead, in the course of a talk. One that does not touch the held one
// begins a new stretch of line.
func (b *bucket) extend(s segment, far stretch) {
	if s.from > b.held.to {
		b.tat = limit.Later(b.tat, limit.At(s.from))
		b.forgetReturns()
	}
	if limit.At(b.held.to).After(b.tat) { // some of what was held is left
		far = max(far, b.far)
	}
	b.held, b.far = s, far
}

// A stretch is a length of line in units of 2²⁰ ns, rounded up; the longest, of 52 days, stands for all that are longer.
type stretch uint32

const stretchUnit = int64(1 << 20)

func stretchOf(ns int64) stretch { return stretch(min(max(ns, 0)/stretchUnit+1, math.MaxUint32)) }

// over is by how much what was reserved so far ahead, under a rule that reached up to longer, lies too far ahead for a rule;
// math.MaxInt64 if that cannot be told.
func (far stretch) over(rule *limit.Rule, longer int64, cfg *Config) int64 {
	within := stretchOf(rule.Reach() + cfg.Delta)
	switch {
	case rule.Reach() >= longer:
		return 0
	case far == math.MaxUint32:
		return math.MaxInt64
	}
	return max(0, int64(far)-int64(within)) * stretchUnit
}

// spend takes length off the line at t, returned line first, and says which pieces of the line these are. The caller
// has tested that it may. The receipts of whoever spent before are worthless if the bucket is full at t.
func (b *bucket) spend(t int64, length limit.Pos) spent {
	var reuses []piece
	if r := b.returns(); r != nil {
		if !b.spentAt(t).After(limit.At(t)) {
			r.forgetMade()
		}
		if t >= r.since {
			r.cap(b.rule, b.creditCap(t))
			reuses, length = r.take(b.rule, length)
		}
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

// busyUntil is when the bucket could be forgotten without loss, now or earlier if it can be at once.
func (b *bucket) busyUntil(now int64, cfg *Config) int64 {
	if b.pending() != nil {
		return math.MaxInt64
	}
	until := b.next().to
	if b.tat.Ceil() < b.held.to {
		until = max(until, b.held.to)
	}
	if b.returns() != nil && b.tat.NS >= now {
		until = max(until, min(b.tat.Ceil(), b.load.at+cfg.ReturnFor))
	}
	return until
}
