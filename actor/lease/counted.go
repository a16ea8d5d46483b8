package lease

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// ReportWithin is how long a report may be on its way before it counts as lost, in nanoseconds.
const ReportWithin = int64(1e9)

// leastShare is the least share that an edge takes itself to have.
const leastShare = 1.0 / 1024

// firstPace is how much sooner than others the second report is, the first that says what an edge was asked for. From it on the time between two doubles.
const firstPace = 8

// fewest is how many tokens the bucket of an edge's share has at least: with fewer, what comes back between two checks would be lost.
const fewest = 4

// A Counted is what an edge knows of one bucket that is eventual: up to where its line was spent when the owner was heard last, and what the edge has admitted since.
// It has that line twice. On the one, what it admits takes as much as it costs, as if nobody else were there. On the other, it takes as much more as the
// edge's share is smaller, as if all others admitted in proportion:
//
//	check at t, of length L on the line
//	  max(all, t) + L    after t + τ              denied: the bucket has not as much
//	  max(own, t) + L/s  no later than t + τ + e  admitted: all and own go on
//	  otherwise                                   denied; or one that costs much goes to the owner, which may have as much
//
// Both go on with time, so what comes back is spent between two reports, too. The excess e is what comes back in the time of one, as long as the bucket has it: so where
// there is enough for all, no edge denies because others might want it. A Counted admits nothing before it has heard. It reports what it has admitted and what it was
// asked for, one report at a time, and the owner charges that, also beyond what is left, into debt. One caller at a time.
type Counted struct {
	rule *limit.Rule

	known    bool // the owner was heard
	all, own limit.Pos
	alone    limit.Pos // up to where what this edge has spent would have got, if nobody else had
	share    float64
	excess   limit.Pos // on the line of own
	away     bool      // the owner decides a check that costs much, or has denied one since it was heard last

	pending spending // is not in a report. Its line is less than nothing where some came back that was

	report spending // the last one
	last   uint64   // its number
	open   bool     // it has no answer
	failed bool     // the last one that has ended has none
	unsure int64    // since when reports have had no answer; 0 if the last one has
	due    int64    // when the next one is
	pace   int64    // how long after the last one that is
	used   int64    // when there was a check last
}

// A spending is what an edge spends of a bucket between two reports.
type spending struct {
	line  limit.Pos // a length: whatever the plans of checks, it is of one size
	since int64     // when the first of it may have been spent
	asked limit.Pos // as much was asked for
}

// some says whether there is any.
func (s *spending) some() bool { return s.line.After(limit.Pos{}) }

// NewCounted is what an edge knows of a bucket of rule of which it has heard nothing.
func NewCounted(rule *limit.Rule) *Counted { return &Counted{rule: rule} }

// Rule is the bucket's.
func (c *Counted) Rule() *limit.Rule { return c.rule }

// Check decides a check of that cost, at least 1. The ask is a report to be sent, if there is one.
func (c *Counted) Check(now, cost int64) (piece Piece, v Verdict, ask Ask) {
	if cost > c.rule.Capacity {
		return Piece{}, Denied, Ask{}
	}
	if c.used = now; c.pending.asked == (limit.Pos{}) && now-c.pending.since > int64(c.rule.Reports()) {
		c.pending.since = now
	}
	c.pending.asked = c.rule.Add(c.pending.asked, c.rule.Length(cost))
	switch v = c.judge(now, cost); {
	case v == Spent:
		piece = c.spend(now, cost)
		return piece, v, c.Due(now)
	case v == Elsewhere && !c.stale(now):
		c.away = true
		c.all = c.rule.End(c.all, now, c.rule.Length(cost)) // as the owner will charge it
	}
	if ask = c.Due(now); v == Elsewhere && c.stale(now) && c.open && !c.failed {
		v = Waits
	}
	return Piece{}, v, ask
}

// Again decides a check that has waited for the first answer.
func (c *Counted) Again(now, cost int64) (piece Piece, ok bool) {
	if c.judge(now, cost) != Spent {
		return Piece{}, false
	}
	return c.spend(now, cost), true
}

// Look implements [Holding].
func (c *Counted) Look(now, cost int64) Verdict { return c.judge(now, cost) }

// judge says what becomes of a check of that cost.
func (c *Counted) judge(now, cost int64) Verdict {
	r, length := c.rule, c.rule.Length(cost)
	switch {
	case cost > r.Capacity:
		return Denied
	case c.stale(now):
		return Elsewhere
	case r.End(c.all, now, length).After(r.Bound(now)):
		return Denied
	case !r.End(c.own, now, c.scaled(length)).After(r.Add(r.Bound(now), c.excess)):
		return Spent
	case c.mayAsk(length):
		return Elsewhere
	}
	return Denied
}

// mayAsk says whether the owner may be asked for what is more than the edge's share: one check at a time, and none once it has denied one, until it is heard. What the
// edge will have by its next report is not asked for; nor, as long as some is not reported, what it may have in a full bucket.
func (c *Counted) mayAsk(length limit.Pos) bool {
	scaled := c.scaled(length)
	if c.away || scaled.NS <= int64(c.rule.Reports()) {
		return false
	}
	full := c.rule.Add(c.rule.Length(c.rule.Capacity), c.excess)
	return scaled.After(full) || !c.pending.some() && !c.report.some()
}

// stale says whether nothing was heard, or nothing any more.
func (c *Counted) stale(now int64) bool {
	return !c.known || c.unsure != 0 && now-c.unsure > ReportWithin
}

// scaled is a length on the line of own.
func (c *Counted) scaled(length limit.Pos) limit.Pos {
	if c.share == 1 || length == (limit.Pos{}) {
		return length
	}
	return limit.At(int64(min(math.Ceil(float64(length.Ceil())/c.share), float64(limit.MaxFill))))
}

func (c *Counted) spend(now, cost int64) Piece {
	r, length := c.rule, c.rule.Length(cost)
	piece := pieceOf(forever, limit.Later(c.all, limit.At(r.Begin(now))), r.End(c.all, now, length), cost)
	piece.rule = r
	c.all, c.own, c.alone = r.End(c.all, now, length), r.End(c.own, now, c.scaled(length)), r.End(c.alone, now, length)
	if r.Begin(now)-r.Begin(c.pending.since) > int64(r.Reports()+limit.OldestReport) { // of a window before: what is reported of it counts in this one
		c.pending.since = now
	}
	c.pending.line = r.Add(c.pending.line, length)
	return piece
}

// Due is the report that is to be sent, if it is time to: of what was admitted, or only to hear where all was denied. One that had no answer is
// made again as it was.
func (c *Counted) Due(now int64) (ask Ask) {
	again := c.failed && c.report.some()
	if c.open || now < c.due || !again && !c.pending.some() && c.pending.asked == (limit.Pos{}) {
		return Ask{}
	}
	if !again {
		c.begin(now)
	}
	c.pace = min(max(2*c.pace, int64(c.rule.Reports())/firstPace), int64(c.rule.Reports()))
	c.open, c.due = true, now+c.pace
	if c.unsure == 0 {
		c.unsure = now
	}
	return c.ask(now)
}

// begin makes what is pending the next report, of whole tokens: by how much more line these are, the one after it is less.
func (c *Counted) begin(now int64) {
	c.last = max(c.last+1, uint64(now)) // also after what the edge knew of the bucket was forgotten
	c.report = c.pending
	c.report.line = c.rule.Length(min(c.rule.TokensFor(c.pending.line), limit.MaxCount))
	c.pending = spending{line: c.rule.Sub(c.pending.line, c.report.line), since: now}
}

// ask is the report, as of now.
func (c *Counted) ask(now int64) Ask {
	tokens, asked := min(c.rule.TokensFor(c.report.line), limit.MaxCount), min(c.rule.TokensFor(c.report.asked), limit.MaxCount)
	return Ask{Number: c.last, Tokens: tokens, Asked: asked, Age: max(now-c.report.since, 0), Report: true}
}

// Answered implements [Holding].
func (c *Counted) Answered(a Answer, _ int64) bool {
	if !c.open || a.Number != c.last {
		return false
	}
	c.open = false
	if c.failed = a.Reported == nil; c.failed {
		c.due = a.Now + int64(c.rule.Reports())
		if !c.report.some() {
			c.pending.asked = c.rule.Add(c.pending.asked, c.report.asked)
		}
		return true
	}
	c.hear(a)
	c.report, c.unsure, c.away = spending{}, 0, false
	return true
}

// hear takes in what the owner says of the bucket.
func (c *Counted) hear(a Answer) {
	r, now := c.rule, a.Sent
	spent := limit.At(a.Reported.Spent)
	if r.Begin(now) == now { // the line is time, by the owner's clock
		spent.NS += now - a.Reported.Now
	}
	first, own := !c.known, c.report.line
	others := r.Sub(c.scaled(own), own).NS                                      // as much as others may not have reported yet, by the share that there was
	if begin := r.Begin(now); begin > now && begin != r.Begin(c.report.since) { // they spent it in a window that is over
		others = 0
	}
	c.known, c.share = true, min(max(float64(a.Reported.Share)/limit.ShareWhole, leastShare), 1)
	c.pending.line = limit.Later(c.pending.line, r.Sub(limit.Pos{}, c.lacks(spent, now)))
	spent = limit.Later(spent, limit.At(r.Begin(now)))
	left := max(r.Sub(r.Bound(now), spent).NS, 0)
	c.excess = limit.At(max(c.scaled(r.Length(min(fewest, r.Capacity))).NS-r.Length(r.Capacity).NS, 0))
	if !first && !a.Reported.Scarce {
		c.excess = limit.Later(c.excess, c.scaled(limit.At(min(left, int64(r.Reports())))))
	}
	c.all, c.own = spent, r.Add(spent, limit.At(min(others, left)))
	c.charge(now, c.pending.line)
	c.all, c.own = limit.Later(c.all, c.alone), limit.Later(c.own, c.alone)
}

// charge puts a length on both lines; less than nothing comes back.
func (c *Counted) charge(now int64, length limit.Pos) {
	r := c.rule
	switch {
	case length.After(limit.Pos{}):
		c.all, c.own = r.End(c.all, now, length), r.End(c.own, now, c.scaled(length))
	case length.NS < 0:
		back := r.Sub(limit.Pos{}, length)
		c.all, c.own = r.Sub(c.all, back), r.Sub(c.own, c.scaled(back))
	}
}

// lacks is how much line a bucket that is spent up to there lacks of being full.
func (c *Counted) lacks(spent limit.Pos, now int64) limit.Pos {
	return limit.Later(c.rule.Sub(spent, limit.At(c.rule.Begin(now))), limit.Pos{})
}

// Heard implements [Holding]: a check that cost much was decided. If it was not admitted, for whichever limit, it has spent nothing.
func (c *Counted) Heard(h Heard) {
	length := c.rule.Length(h.Cost)
	if h.Outcome.Allowed && !h.Taken { // nor did it ask for anything that this limit would not give
		c.pending.asked = limit.Later(c.rule.Sub(c.pending.asked, length), limit.Pos{})
	}
	if !c.away {
		return
	}
	if c.away = !h.Outcome.Allowed; !h.Taken {
		if lacks := c.lacks(c.all, h.Now); length.After(lacks) {
			length = lacks
		}
		c.all = c.rule.Sub(c.all, length)
	}
}

// Undo takes back what was admitted, as far as time has not brought it back: what is reported next is as much less. It takes no more than the bucket lacks of being full.
func (c *Counted) Undo(piece Piece, now int64) bool {
	if piece.Over(c.rule, now) {
		return false
	}
	r := c.rule
	start, end := piece.at(r)
	back := r.Sub(end, limit.Later(start, limit.At(r.Begin(now))))
	if lacks := c.lacks(c.all, now); back.After(lacks) {
		back = lacks
	}
	if !back.After(limit.Pos{}) {
		return false
	}
	c.pending.line, c.alone = r.Sub(c.pending.line, back), r.Sub(c.alone, back)
	c.charge(now, r.Sub(limit.Pos{}, back))
	return true
}

// Surplus implements [Holding]: there is nothing to give back.
func (c *Counted) Surplus(int64) []limit.Receipt { return nil }

// Flush are the reports of all that was not reported, to be sent at once.
func (c *Counted) Flush(now int64) (asks []Ask) {
	if c.report.some() {
		asks = append(asks, c.ask(now))
	}
	if c.pending.some() {
		c.begin(now)
		asks = append(asks, c.ask(now))
	}
	c.report = spending{}
	return asks
}

// Under has the bucket go on under another rule with the same register, once the limit was changed. What is spent stays spent: line is as long as before.
func (c *Counted) Under(rule *limit.Rule) {
	for _, at := range []*limit.Pos{&c.all, &c.own, &c.alone, &c.pending.line, &c.pending.asked, &c.report.line, &c.report.asked} {
		*at = rule.Carry(c.rule, *at)
	}
	c.rule = rule
}

// Idle implements [Holding].
func (c *Counted) Idle(now int64) bool {
	return !c.open && !c.pending.some() && !c.report.some() && now-c.used > 5*memory
}

// Left is how many tokens may be admitted at now.
func (c *Counted) Left(now int64) int64 {
	if c.stale(now) {
		return 0
	}
	r := c.rule
	part := float64(r.TokensUpTo(r.Add(r.Bound(now), c.excess), c.own, now)) * c.share
	return min(r.Tokens(c.all, now), int64(part))
}

// Outcome implements [Holding]. A denial ends when the bucket has as much, and the edge may take it, or hears again.
func (c *Counted) Outcome(now, cost int64, allowed bool) limit.Outcome {
	r, length := c.rule, c.rule.Length(cost)
	o := r.Outcome(c.all, now, cost, r.End(c.all, now, length), allowed)
	o.Remaining = min(o.Remaining, c.Left(now))
	if !allowed && !o.Never {
		part := r.Wait(r.Sub(r.End(c.own, now, c.scaled(length)), c.excess), now)
		o.RetryAfter = max(o.RetryAfter, min(part, ns(max(c.due-now, 0))), ns(1e6))
	}
	return o
}
