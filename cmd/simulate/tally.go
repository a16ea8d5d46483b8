package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Tally is how many lines there were, and what became of those that are no check.
type Tally struct {
	Lines      int64     `json:"lines"`       // that are not empty
	Unreadable int64     `json:"unreadable"`  // lines that say no time, or are no line of a log
	WithoutKey int64     `json:"without_key"` // lines that lack a field of the key
	Late       int64     `json:"late"`        // lines too far behind others with a later time
	Problems   []Problem `json:"problems"`    // the first of each
}

// A Problem is a line that was left out.
type Problem struct {
	Log  string `json:"log"`
	Line int64  `json:"line"`
	Text string `json:"problem"`
}

// maxProblems is how many problems of a kind are told.
const maxProblems = 3

// A lineError is why a line was left out.
type lineError struct {
	kind func(*Tally) *int64 // which count it belongs to
	text string
}

func (e *lineError) Error() string { return e.text }

func unreadable(t *Tally) *int64 { return &t.Unreadable }
func withoutKey(t *Tally) *int64 { return &t.WithoutKey }
func late(t *Tally) *int64       { return &t.Late }

// leaveOut counts a line that is no check.
func (t *Tally) leaveOut(log string, line int64, why *lineError) {
	n := why.kind(t)
	if *n++; *n <= maxProblems {
		t.Problems = append(t.Problems, Problem{Log: log, Line: line, Text: why.text})
	}
}

// ErrUnreadable is that of logs most of which, or too much of which, cannot be used.
var ErrUnreadable = errors.New("the log cannot be used")

// worth says whether enough of the lines were checks.
func (t *Tally) worth() error {
	left := t.Unreadable + t.Late
	switch {
	case t.Lines == 0:
		return fmt.Errorf("%w: it has no lines", ErrUnreadable)
	case t.WithoutKey > 0 && t.WithoutKey+left == t.Lines:
		return fmt.Errorf("%w: no line has a key:%s", ErrUnreadable, t.shown())
	case left*10 > t.Lines:
		return fmt.Errorf("%w: %d of %d lines are left out, more than a tenth:%s", ErrUnreadable, left, t.Lines, t.shown())
	}
	return nil
}

// shown are the problems, a line each.
func (t *Tally) shown() (text string) {
	slices.SortStableFunc(t.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.Line, b.Line))
	})
	for _, p := range t.Problems {
		text += fmt.Sprintf("\n  %s:%d: %s", p.Log, p.Line, p.Text)
	}
	return text
}
