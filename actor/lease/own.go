package lease

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An Own is a bucket of an edge's own: of a limit that is local. It has line of which nobody else spends. One caller at a time.
type Own struct {
	rule *limit.Rule
	tat  limit.Pos
	back moves // what came back
}

// NewOwn is a full bucket of rule.
func NewOwn(rule *limit.Rule) *Own { return &Own{rule: rule} }

// Rule is the one by which the bucket was spent from last.
func (o *Own) Rule() *limit.Rule { return o.rule }

// Under has the bucket go on under another rule with the same register: of another plan, or of the limit once that was changed. What was spent stays spent.
func (o *Own) Under(rule *limit.Rule) {
	o.tat, o.rule = rule.Carry(o.rule, o.tat), rule
}

// forever is the lease of line that is the edge's own.
var forever = &limit.Lease{Until: math.MaxInt64}

// Check decides a check of that cost, at least 1.
func (o *Own) Check(now, cost int64) (piece Piece, v Verdict, _ Ask) {
	start := limit.Later(o.tat, limit.At(o.rule.Begin(now)))
	end, ok := o.rule.Decide(o.tat, now, cost)
	if !ok {
		return Piece{}, Denied, Ask{}
	}
	o.tat = end
	piece = pieceOf(forever, start, end, cost)
	piece.rule, piece.moved = o.rule, o.back.n
	return piece, Spent, Ask{}
}

// Again implements [Holding]: nobody waits.
func (o *Own) Again(int64, int64) (piece Piece, ok bool) { return Piece{}, false }

// Look implements [Holding].
func (o *Own) Look(now, cost int64) Verdict {
	if _, ok := o.rule.Decide(o.tat, now, cost); ok {
		return Spent
	}
	return Denied
}

// Due implements [Holding]: nobody is told.
func (o *Own) Due(int64) Ask { return Ask{} }

// Answered implements [Holding]: nobody is asked.
func (o *Own) Answered(Answer, int64) bool { return false }

// Heard implements [Holding]: nobody is heard.
func (o *Own) Heard(Heard) {}

// Undo takes back a piece, as far as time has not brought it back: by its length, since nobody else spends of the line, and nobody waits for it. All that was spent behind
// it is so much nearer then.
func (o *Own) Undo(piece Piece, now int64) bool {
	if piece.Over(o.rule, now) {
		return false
	}
	start, end := piece.at(o.rule)
	nearer := o.back.since(piece.moved, start.NS)
	start.NS, end.NS = start.NS-nearer, end.NS-nearer
	start = limit.Later(start, limit.At(o.rule.Begin(now)))
	if !end.After(start) {
		return false
	}
	length := o.rule.Sub(end, start)
	o.tat = o.rule.Sub(o.tat, length)
	o.back.add(start.NS, length.Ceil())
	return true
}

// Surplus implements [Holding]: there is nothing to give back.
func (o *Own) Surplus(int64) []limit.Receipt { return nil }

// Idle says that the bucket is full.
func (o *Own) Idle(now int64) bool { return !o.tat.After(limit.At(o.rule.Begin(now))) }

// Left is how many tokens the bucket has.
func (o *Own) Left(now int64) int64 { return o.rule.Tokens(o.tat, now) }

// Outcome implements [Holding].
func (o *Own) Outcome(now, cost int64, allowed bool) limit.Outcome {
	r := o.rule
	return r.Outcome(o.tat, now, cost, r.End(o.tat, now, r.Length(cost)), allowed)
}

func ns(n int64) time.Duration { return time.Duration(n) }
