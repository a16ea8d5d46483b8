package owner_test

import (
	"cmp"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A ledger is everything that was ever admitted and returned, by whomever.
type ledger struct {
	rule  *limit.Rule
	lines []entered
	moves []move
}

// entered is a receipt, and the true time at which the clock was read for its check.
type entered struct {
	receipt limit.Receipt
	at      int64
	cost    int64
}

// A move is tokens that were admitted or, below zero, returned.
type move struct {
	generation, at, tokens int64
}

func (l *ledger) admit(r limit.Receipt, at, cost int64) {
	l.lines = append(l.lines, entered{r, at, cost})
	l.moves = append(l.moves, move{r.Generation, at, cost})
}

func (l *ledger) giveBack(e entered, at int64) {
	l.moves = append(l.moves, move{e.receipt.Generation, at, -e.cost})
}

// audit asserts what must hold whatever has happened. The owners' clocks are within eps of the true time.
func (l *ledger) audit(tb reporter, eps int64) {
	tb.Helper()
	l.auditLine(tb)
	l.auditReuses(tb)
	l.auditWindows(tb, eps)
}

// auditLine asserts that line is spent once in a generation, and in two only up to the reset between them.
func (l *ledger) auditLine(tb reporter) {
	tb.Helper()
	lines := slices.DeleteFunc(slices.Clone(l.lines), func(e entered) bool { return e.receipt.Start == e.receipt.End })
	slices.SortFunc(lines, func(a, b entered) int { return cmp.Compare(a.receipt.Start, b.receipt.Start) })
	for i, a := range lines {
		for _, b := range lines[i+1:] {
			if b.receipt.Start >= a.receipt.End {
				break
			}
			end := min(a.receipt.End, b.receipt.End) // of what both have spent
			if g, h := a.receipt.Generation, b.receipt.Generation; g == h || end > max(g, h) {
				tb.Fatalf("the same line is spent by\n%+v and\n%+v", a.receipt, b.receipt)
			}
		}
	}
}

// auditReuses asserts that line that was spent again had been spent by earlier receipts of its owner, fresh there or itself
// spent again: returned pieces that touch are one piece.
func (l *ledger) auditReuses(tb reporter) {
	tb.Helper()
	for i, e := range l.lines {
		if len(e.receipt.Reuses) == 0 {
			continue
		}
		var before []limit.Span
		for _, o := range l.lines[:i] {
			if o.receipt.Generation == e.receipt.Generation && o.receipt.Owner == e.receipt.Owner {
				before = append(append(before, o.receipt.Span), o.receipt.Reuses...)
			}
		}
		slices.SortFunc(before, func(a, b limit.Span) int { return cmp.Compare(a.Start, b.Start) })
		for _, p := range e.receipt.Reuses {
			from := p.Start // up to where p is in before
			for _, s := range before {
				if s.Start <= from {
					from = max(from, s.End)
				}
			}
			if from < p.End {
				tb.Fatalf("%+v spends line again that no earlier receipt of its owner has spent: %+v", e.receipt, p)
			}
		}
	}
}

// auditWindows asserts the promise: in every window the net of what was admitted is at most C + r·w + 2·r·ε.
func (l *ledger) auditWindows(tb reporter, eps int64) {
	tb.Helper()
	moves := slices.Clone(l.moves)
	slices.SortFunc(moves, func(a, b move) int { return cmp.Or(cmp.Compare(a.generation, b.generation), cmp.Compare(a.at, b.at)) })
	together := func(i, j int) bool { // part of the same windows
		return i >= 0 && j < len(moves) && moves[i].generation == moves[j].generation && moves[i].at == moves[j].at
	}
	per, tokens := int64(l.rule.Refill.Per), l.rule.Refill.Tokens
	for i, first := range moves {
		if together(i-1, i) {
			continue
		}
		net := int64(0)
		for j, last := range moves[i:] {
			if last.generation != first.generation {
				break
			}
			net += last.tokens
			if together(i+j, i+j+1) {
				continue
			}
			if net*per > l.rule.Capacity*per+tokens*(last.at-first.at+2*eps) {
				tb.Fatalf("%d net in the %d ns from %d on, in generation %d", net, last.at-first.at, first.at, first.generation)
			}
		}
	}
}
