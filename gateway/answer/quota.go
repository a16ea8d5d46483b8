package answer

import (
	"cmp"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Quota is what one limit said to a request. Rule is the limit as it was decided by; it may be nil when that is not
// known, and one whose capacity is not that of the outcome counts as not known: then no rate is told.
type Quota struct {
	Rule *limit.Rule
	limit.Outcome
}

// mostInteger is the largest integer of a structured field: RFC 9651, section 3.3.1. More is told as that many.
const mostInteger = 999_999_999_999_999

func integer(n int64) int64 { return min(max(n, 0), mostInteger) }

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int64 {
	whole := int64(d / time.Second)
	if d%time.Second > 0 {
		whole++
	}
	return whole
}

// rule is that of the quota if it is known, or nil.
func (q *Quota) rule() *limit.Rule {
	if q.Rule == nil || q.Rule.Capacity != q.Limit {
		return nil
	}
	return q.Rule
}

// window is the draft's t in seconds, at least 1: as long as what remains takes to come back, so that whoever spreads what
// remains over it does not go faster than the refill. When nothing remains it is how long the next token takes to come.
// ok is false when the rule is not known.
func (q *Quota) window() (t int64, ok bool) {
	rule := q.rule()
	if rule == nil {
		return 0, false
	}
	return max(seconds(rule.Window(integer(q.Remaining), q.ResetAfter)), 1), true
}

// wait is how long a denied client is asked to wait, in seconds: until the same request would be admitted.
func (q *Quota) wait() int64 { return max(seconds(q.RetryAfter), 1) }

// reset is what the older forms tell in seconds: the window, or of a denial the wait if that is longer. Where the rule is not
// known, the bucket is full by then.
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

// Nearest is the quota that is nearest to exhaustion, the first of several that are equally near, or nil if there is none.
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

// nearer compares two quotas; the one that is nearer to exhaustion is less.
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
