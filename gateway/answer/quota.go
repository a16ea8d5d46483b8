package answer

import (
	"cmp"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Quota is the outcome of one limit for a request. Rule is the limit that decided it. It may be nil, if it is not known, and a
// rule whose capacity differs from that of the outcome counts as not known: then the headers show no rate.
type Quota struct {
	Rule *limit.Rule
	// Counts is what the limit counts, as config.Counted has it; empty means requests. Only the dialects of language models show it.
	Counts string
	limit.Outcome
}

// maxInteger is the largest integer of a structured field: RFC 9651, section 3.3.1.
const maxInteger = 999_999_999_999_999

// integer bounds n to what a structured field can hold.
func integer(n int64) int64 { return min(max(n, 0), maxInteger) }

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int64 {
	whole := int64(d / time.Second)
	if d%time.Second > 0 {
		whole++
	}
	return whole
}

// rule is the rule of the quota, or nil if it is not known.
func (q *Quota) rule() *limit.Rule {
	if q.Rule == nil || q.Rule.Capacity != q.Limit {
		return nil
	}
	return q.Rule
}

// window is the draft's t in seconds, at least 1: how long the remaining tokens take to refill, so that a client which spreads
// them over this time does not go faster than the refill. When none remain, it is the time until the next token. ok is false
// when the rule is not known.
func (q *Quota) window() (t int64, ok bool) {
	rule := q.rule()
	if rule == nil {
		return 0, false
	}
	return max(seconds(rule.Window(integer(q.Remaining), q.ResetAfter)), 1), true
}

// wait is how many seconds a denied client is asked to wait: until the same request would be admitted.
func (q *Quota) wait() int64 { return max(seconds(q.RetryAfter), 1) }

// reset is the Reset of the older forms, in seconds: the window, or for a denial the wait if that is longer. If the rule is not
// known, it is the time until the bucket is full.
func (q *Quota) reset() int64 {
	t, known := q.window()
	switch {
	case !q.Allowed && !q.Never:
		return max(q.wait(), t)
	case known:
		return t
	}
	return max(seconds(q.ResetAfter), 1)
}

// Nearest is the quota nearest to exhaustion, or nil without quotas: one that denies before one that admits; of those that
// deny, one that can never admit the cost, then the one with the longest wait; otherwise the one with the fewest tokens. Of
// equals it is the first.
func Nearest(quotas []Quota) *Quota {
	if len(quotas) == 0 {
		return nil
	}
	best := &quotas[0]
	for i := range quotas[1:] {
		if q := &quotas[i+1]; nearer(q, best) < 0 {
			best = q
		}
	}
	return best
}

// nearer compares two quotas; the one nearer to exhaustion is less.
func nearer(a, b *Quota) int {
	if a.Allowed != b.Allowed {
		return yesFirst(!a.Allowed, !b.Allowed)
	}
	if a.Never != b.Never {
		return yesFirst(a.Never, b.Never)
	}
	if !a.Allowed && !a.Never {
		if c := cmp.Compare(b.wait(), a.wait()); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Remaining, b.Remaining)
}

func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
