package lease

import "github.com/jeton-dev/jeton/actor/limit"

// A Holding is what an edge keeps of one bucket, by the consistency of its limit: a [Share], a [Counted] or an [Own]. One caller at a time.
type Holding interface {
	// Rule is the bucket's.
	Rule() *limit.Rule
	// Check decides a check of that cost, at least 1, at now. The ask is to be sent, if there is one.
	Check(now, cost int64) (piece Piece, v Verdict, ask Ask)
	// Again decides a check that has waited, once the answer has come.
	Again(now, cost int64) (piece Piece, ok bool)
	// Look says what would become of a check. It takes nothing, and asks for nothing.
	Look(now, cost int64) Verdict
	// Due is an ask that is to be sent without a check, if there is one.
	Due(now int64) Ask
	// Answered takes in an answer, and says whether that was the one that is waited for. The clock of who answers may differ by most.
	Answered(a Answer, most int64) bool
	// Heard takes in what the owner said to a check that it decided.
	Heard(h Heard)
	// Undo takes back a piece that was admitted, and says whether it may be spent again. Nobody may have taken it back before.
	Undo(piece Piece, now int64) bool
	// Surplus is what is not needed any more, to be given back.
	Surplus(now int64) []limit.Receipt
	// Idle says that nothing would be lost if the holding were forgotten.
	Idle(now int64) bool
	// Left is how many tokens can be admitted at now.
	Left(now int64) int64
	// Outcome is what the limit says to a check that was decided here.
	Outcome(now, cost int64, allowed bool) limit.Outcome
}

// New is what an edge keeps of a bucket of rule, of which it has nothing yet; nil where only the owner decides.
func New(rule *limit.Rule) Holding {
	if rule.LeasedWhenHot() {
		return NewShare(rule)
	}
	switch rule.Consistency {
	case limit.Leased:
		return NewShare(rule)
	case limit.Eventual:
		return NewCounted(rule)
	case limit.OfEdge:
		return NewOwn(rule)
	case limit.Strong:
	}
	return nil
}
