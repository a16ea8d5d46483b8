package history

import (
	"fmt"
	"slices"
)

// A view is a history made ready to be checked.
type view struct {
	*History
	buckets []*bucket
	clocks  []Fault // those that let a node spend at a wrong time what it holds
	epsilon int64   // how far a clock of the limiter may be from the callers', in nanoseconds
	start   int64   // of the history
}

func newView(h *History, epsilon int64, key string) *view {
	v := &view{History: h, epsilon: epsilon, buckets: buckets(h)}
	for i, b := range v.buckets {
		if s := b.calls[0].Start; i == 0 || s < v.start {
			v.start = s
		}
	}
	for _, f := range h.Faults {
		if f.Held > 0 {
			v.clocks = append(v.clocks, f)
		}
	}
	if key != "" {
		v.buckets = slices.DeleteFunc(v.buckets, func(b *bucket) bool { return b.key != key })
	}
	return v
}

// of are the buckets of limits with one of these algorithms.
func (v *view) of(algorithms ...string) []*bucket {
	var some []*bucket
	for _, b := range v.buckets {
		if slices.Contains(algorithms, b.versions[0].Algorithm) {
			some = append(some, b)
		}
	}
	return some
}

// lines are the buckets that spend a line: of limits that take holds only those whose holds one process alone knows of.
func (v *view) lines() []*bucket {
	return slices.DeleteFunc(v.of(TokenBucket, FixedWindow), func(b *bucket) bool { return b.takesHolds() && b.versions[0].durable() })
}

// held is the most that a call from start to end may be off for the sake of a clock that was wrong.
func (v *view) held(start, end int64) int64 {
	most := int64(0)
	for _, f := range v.clocks {
		if f.Start <= end && start <= f.End {
			most = max(most, f.Held)
		}
	}
	return most
}

// found notes a violation.
func (v *view) found(r *Result, b *bucket, calls []*Call, what string, args ...any) {
	r.Found++
	if len(r.Violations) == MaxViolations {
		return
	}
	x := Violation{What: fmt.Sprintf(what, args...)}
	if b != nil {
		x.Limit, x.Key = b.versions[0].Name, b.key
	}
	for _, c := range calls {
		x.Calls = append(x.Calls, *c)
		x.Shown = append(x.Shown, describe(c, v.start))
	}
	r.Violations = append(r.Violations, x)
}
