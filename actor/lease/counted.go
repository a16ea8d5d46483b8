package lease

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// ReportWithin is how long a report may be on its way before it counts as lost, in nanoseconds.
const ReportWithin = int64(1e9)

// A Counted is what an edge knows of one bucket that is eventual: what was left when it last heard of it, less what it has admitted since. It admits nothing
// before it has heard, and until it hears again no more than its share of what was left then; what comes back meanwhile it does not count on. Its share is that of
// its own admissions among all that the owner was told of between its last two reports; all, as long as it knows no better. It reports what it has
// admitted, and the owner charges that, also beyond what is left, into debt. One caller at a time.
type Counted struct {
	rule *limit.Rule
	left int64 // may be admitted until the owner is heard again

	heard    limit.Outcome
	heardAt  int64 // when what was heard was asked for
	told     int64 // when a report was answered last: what was asked for before may lack it
	known    bool
	share    float64 // of what all edges spend, what this one does
	full     int64   // by how much the bucket lacked of being full when a report was answered last, in nanoseconds of line, at fullAt
	fullAt   int64   // 0 for no report
	pending  int64   // tokens that were admitted and are not in a report
	reported int64   // those in the open report

	last uint64 // number of the last report
	open bool   // it has no answer
	due  int64  // when the next one is
	used int64  // when there was a check last
}

// NewCounted is what an edge knows of a bucket of rule of which it has heard nothing.
func NewCounted(rule *limit.Rule) *Counted { return &Counted{rule: rule, share: 1} }

// Rule is the bucket's.
func (c *Counted) Rule() *limit.Rule { return c.rule }

// Check decides a check of that cost, at least 1. The ask is a report to be sent, if there is one.
func (c *Counted) Check(now, cost int64) (piece Piece, v Verdict, ask Ask) {
	c.used = now
	if v = c.Look(now, cost); v != Spent {
		return Piece{}, v, c.Due(now)
	}
	if c.pending == 0 {
		c.due = max(c.due, now+int64(c.rule.Reports()))
	}
	c.left -= cost
	c.pending += cost
	return Piece{Cost: cost}, Spent, c.Due(now)
}

// Again implements [Holding]: nobody waits.
func (c *Counted) Again(int64, int64) (piece Piece, ok bool) { return Piece{}, false }

// Look implements [Holding].
func (c *Counted) Look(now, cost int64) Verdict {
	switch {
	case c.stale(now):
		return Elsewhere
	case cost <= c.left:
		return Spent
	case cost <= c.heard.Remaining-c.pending-c.reported-c.rule.Capacity/2:
		return Elsewhere // beyond this edge's share, but more than half of the bucket is left
	}
	return Denied
}

// stale says whether what was heard is too old to go by, or nothing was heard.
func (c *Counted) stale(now int64) bool {
	return !c.known || now-c.heardAt > int64(c.rule.Reports())+ReportWithin
}

// Due is the report that is to be sent, if it is time to.
func (c *Counted) Due(now int64) (ask Ask) {
	if c.open || now < c.due || c.pending == 0 {
		return Ask{}
	}
	c.last++
	c.open = true
	c.reported, c.pending = c.pending, 0
	return Ask{Number: c.last, Tokens: c.reported, Report: true}
}

// Answered implements [Holding]. A report without an answer is made again with the next one, when that is due: what had reached the owner is charged twice then.
func (c *Counted) Answered(a Answer, _ int64) bool {
	if !c.open || a.Number != c.last {
		return false
	}
	c.open = false
	if a.Outcome.Name == "" {
		c.pending += c.reported
		c.reported, c.due = 0, max(c.due, a.Now+int64(c.rule.Reports()))
		return true
	}
	c.learn(a.Outcome, a.Sent)
	c.reported = 0
	c.Heard(a.Outcome, a.Sent)
	c.told = a.Now
	return true
}

// leastShare is the least share that an edge takes itself to have.
const leastShare = 1.0 / 256

// learn compares what was reported with what the bucket was charged since the report before, by how far it is from being full.
func (c *Counted) learn(o limit.Outcome, at int64) {
	full := int64(o.ResetAfter)
	if c.fullAt > 0 && at > c.fullAt {
		own, all := float64(c.reported)*c.rule.PerToken(), float64(full-c.full+at-c.fullAt)
		share := 1.0
		if full > 0 && all > own {
			share = max(own/all, leastShare)
		}
		c.share = (c.share + share) / 2
	}
	c.full, c.fullAt = full, at
}

// Heard takes in what the owner said of the bucket to what it was asked at a time: a report, or a check that it decided. Of a key with an override nothing is known: the owner decides each
// check.
func (c *Counted) Heard(o limit.Outcome, at int64) {
	if c.known && at < max(c.heardAt, c.told) {
		return
	}
	c.heard, c.heardAt, c.known = o, at, o.Override == ""
	c.left = max(int64(math.Ceil(float64(o.Remaining)*c.share))-c.pending-c.reported, 0)
}

// Undo takes back what was admitted, as long as it was not reported.
func (c *Counted) Undo(piece Piece, _ int64) bool {
	if piece.Cost > c.pending {
		return false
	}
	c.pending -= piece.Cost
	c.left += piece.Cost
	return true
}

// Surplus implements [Holding]: there is nothing to give back.
func (c *Counted) Surplus(int64) []limit.Receipt { return nil }

// Flush is all that was not reported, to be reported at once.
func (c *Counted) Flush() (tokens int64) {
	tokens = c.pending
	c.pending = 0
	return tokens
}

// Succeed takes over what was admitted of the same bucket under another rule and not reported: as much of the line, as that is what owners keep over a change.
func (c *Counted) Succeed(before *Counted) {
	c.pending += int64(math.Ceil(float64(before.Flush()) * before.rule.PerToken() / c.rule.PerToken()))
}

// Idle implements [Holding].
func (c *Counted) Idle(now int64) bool {
	return !c.open && c.pending == 0 && now-c.used > 5*memory
}

// Left is how many tokens may be admitted before the owner is heard again.
func (c *Counted) Left(now int64) int64 {
	if c.stale(now) {
		return 0
	}
	return c.left
}

// Outcome implements [Holding]. A denial ends when the owner is heard again, or some is back.
func (c *Counted) Outcome(now, cost int64, allowed bool) limit.Outcome {
	o := c.heard
	passed := now - c.heardAt
	o.Name, o.Allowed, o.Never, o.RetryAfter = c.rule.Name, allowed, cost > c.rule.Capacity, 0
	o.Remaining = min(c.left, o.Remaining)
	if o.ResetAfter -= ns(passed); o.ResetAfter < 0 {
		o.ResetAfter = 0
	}
	if !allowed && !o.Never {
		missing := c.rule.Length(cost - c.left).Ceil()
		o.RetryAfter = max(c.rule.Reports()-ns(passed), ns(missing-passed), ns(int64(1e6)))
	}
	return o
}
