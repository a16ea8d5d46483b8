package lease

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An Own is a bucket of an edge's own: of a limit that is local. It has line of which nobody else spends. One caller at a time.
type Own struct {
	back Bucket // pieces that came back
	tat  limit.Pos
}

// NewOwn is a full bucket of rule.
func NewOwn(rule *limit.Rule) *Own { return &Own{back: Bucket{rule: rule}} }

// Rule is the bucket's.
func (o *Own) Rule() *limit.Rule { return o.back.rule }

// forever is the lease of line that is the edge's own.
var forever = &limit.Lease{Until: math.MaxInt64}

// Check decides a check of that cost, at least 1: first from what came back, each piece in its place.
func (o *Own) Check(now, cost int64) (piece Piece, v Verdict, _ Ask) {
	if piece, ok := o.back.Take(now, cost); ok {
		return piece, Spent, Ask{}
	}
	r := o.Rule()
	start := limit.Later(o.tat, limit.At(r.Begin(now)))
	end, ok := r.Decide(o.tat, now, cost)
	if !ok {
		return Piece{}, Denied, Ask{}
	}
	o.tat = end
	return pieceOf(forever, start, end, cost), Spent, Ask{}
}

// Again implements [Holding]: nobody waits.
func (o *Own) Again(int64, int64) (piece Piece, ok bool) { return Piece{}, false }

// Look implements [Holding].
func (o *Own) Look(now, cost int64) Verdict {
	if o.back.Has(now, cost) {
		return Spent
	}
	if _, ok := o.Rule().Decide(o.tat, now, cost); ok {
		return Spent
	}
	return Denied
}

// Due implements [Holding]: nobody is told.
func (o *Own) Due(int64) Ask { return Ask{} }

// Answered implements [Holding]: nobody is asked.
func (o *Own) Answered(Answer, int64) bool { return false }

// Heard implements [Holding]: nobody is heard.
func (o *Own) Heard(limit.Outcome, int64) {}

// Undo takes back a piece.
func (o *Own) Undo(piece Piece, now int64) bool {
	if piece.end == o.tat { // the last one
		o.tat = piece.start
		return true
	}
	return o.back.Undo(piece, now)
}

// Give notes that a piece may come back by that number.
func (o *Own) Give(number uint64, piece Piece) { o.back.Give(number, piece) }

// PutBack takes back what was admitted, once.
func (o *Own) PutBack(number uint64, now int64) bool {
	piece, ok := o.back.given[number]
	if !ok {
		return false
	}
	delete(o.back.given, number)
	return o.Undo(piece, now)
}

// Surplus implements [Holding]: there is nothing to give back.
func (o *Own) Surplus(int64) []limit.Receipt { return nil }

// Idle says that the bucket is full.
func (o *Own) Idle(now int64) bool {
	o.back.expire(now)
	return !o.tat.After(limit.At(o.Rule().Begin(now)))
}

// Left is how many tokens the bucket has.
func (o *Own) Left(now int64) int64 { return o.Rule().Tokens(o.tat, now) + o.back.Left(now) }

// Outcome implements [Holding].
func (o *Own) Outcome(now, cost int64, allowed bool) limit.Outcome {
	r := o.Rule()
	out := r.Outcome(o.tat, now, cost, r.End(o.tat, now, r.Length(cost)), allowed)
	out.Remaining = min(out.Remaining+o.back.Left(now), r.Capacity)
	return out
}

func ns(n int64) time.Duration { return time.Duration(n) }
