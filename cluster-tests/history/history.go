// Package history checks what callers of a rate limiter saw. A history is a list of calls with the times at which they
// began and ended; the checkers find in it whether a limit was ever exceeded. They know nothing of how jeton works
// inside, except what a receipt means.
//
// Start with [Check].
package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Call is one check of one limit, as its caller saw it.
type Call struct {
	Key        string
	Cost       int64
	Start, End int64 // the caller's clock before and after, in nanoseconds since the Unix epoch
	Admitted   bool
	Receipt    limit.Receipt // if admitted
	Life       int           // which life of the node answered, for people to read
}

// Check runs all checkers on the calls of one limit. epsilon is how far, in nanoseconds, a node's clock may be from the
// callers'.
func Check(rule *limit.Rule, calls []Call, epsilon int64) error {
	byKey := map[string][]Call{}
	for _, c := range calls {
		if c.Admitted {
			byKey[c.Key] = append(byKey[c.Key], c)
		}
	}
	var errs []error
	for key, admitted := range byKey {
		err := errors.Join(
			Disjoint(admitted), Lengths(rule, admitted), Placed(rule, admitted, epsilon), Windows(rule, admitted, epsilon))
		if err != nil {
			errs = append(errs, fmt.Errorf("limit %s, key %s: %w", rule.Name, key, err))
		}
	}
	return errors.Join(errs...)
}

// Disjoint finds receipts of one bucket whose spans overlap: line that was spent twice. It needs no clock.
func Disjoint(admitted []Call) error {
	sorted := slices.Clone(admitted)
	slices.SortFunc(sorted, func(a, b Call) int {
		return cmp.Or(
			cmp.Compare(a.Receipt.Generation, b.Receipt.Generation),
			cmp.Compare(a.Receipt.Start, b.Receipt.Start),
			cmp.Compare(a.Receipt.End, b.Receipt.End))
	})
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if a.Receipt.Generation == b.Receipt.Generation && b.Receipt.Start < a.Receipt.End && b.Receipt.End > b.Receipt.Start {
			return fmt.Errorf("spans overlap: (%d, %d] of life %d and (%d, %d] of life %d",
				a.Receipt.Start, a.Receipt.End, a.Life, b.Receipt.Start, b.Receipt.End, b.Life)
		}
	}
	return nil
}

// Lengths finds receipts that are shorter or longer than their cost. Each end of a span is rounded down to a
// nanosecond.
func Lengths(rule *limit.Rule, admitted []Call) error {
	for _, c := range admitted {
		length, rounding := c.Receipt.End-c.Receipt.Start, int64(1)
		for _, again := range c.Receipt.Reuses {
			length += again.End - again.Start
			rounding++
		}
		if want := rule.Length(c.Cost).NS; length < want-rounding || length > want+rounding {
			return fmt.Errorf("a receipt for %d tokens is %d ns long, not %d", c.Cost, length, want)
		}
	}
	return nil
}

// Placed finds spans that could not have been spent at any time within their call: one that began too early, or that
// reaches further ahead than the bucket is large.
func Placed(rule *limit.Rule, admitted []Call, epsilon int64) error {
	for _, c := range admitted {
		if len(c.Receipt.Reuses) > 0 {
			continue // line that was spent again lies where it was spent first
		}
		earliest, latest := c.Start-epsilon, rule.Bound(c.End+epsilon).Ceil()
		if c.Receipt.Start < earliest || c.Receipt.End > latest {
			return fmt.Errorf("the span (%d, %d] of a call from %d to %d cannot have been spent then",
				c.Receipt.Start, c.Receipt.End, c.Start, c.End)
		}
	}
	return nil
}

// Windows finds a window of time in which more was admitted than the capacity and what was refilled meanwhile, counting
// only calls that lie wholly inside it. It needs no receipts.
func Windows(rule *limit.Rule, admitted []Call, epsilon int64) error {
	if len(admitted) == 0 {
		return nil
	}
	w, err := newWindows(rule, admitted)
	if err != nil {
		return err
	}
	byEnd := slices.Clone(admitted)
	slices.SortFunc(byEnd, func(a, b Call) int { return cmp.Compare(a.End, b.End) })
	for _, c := range byEnd {
		w.add(c)
		if start, over := w.worst(c.End, epsilon); over > 0 {
			return fmt.Errorf("between %d and %d, %.3f ms, %.3f tokens too many were admitted",
				start, c.End, float64(c.End-start)/1e6, float64(over)/float64(w.perToken))
		}
	}
	return nil
}
