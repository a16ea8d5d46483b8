package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// Counts say how often something happened, by what it is called.
type Counts map[string]int

func (w *World) count(what string) { w.counts[what]++ }

func (w *World) countVerdict(v register.Verdict) { w.counts[verdictCounts[v]]++ }

var verdictCounts = [...]string{
	"", "answers: accepted", "answers: taken", "answers: old generation", "answers: wrong epoch",
	"answers: sealed", "answers: skewed", "answers: too far", "answers: full",
}

func (w *World) countError(err error) {
	var lost *owner.LostError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		w.count("no decision: too late")
	case errors.As(err, &lost):
		w.count("no decision: too few replicas answer")
	case errors.Is(err, limit.ErrOverloaded):
		w.count("no decision: no room for another limit that a request defines")
	default:
		w.count("no decision: the clock differs")
	}
}

// Add adds other to c.
func (c Counts) Add(other Counts) {
	for what, n := range other {
		c[what] += n
	}
}

// String is a table.
func (c Counts) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%12d  %s\n", c[what], what)
	}
	return b.String()
}
