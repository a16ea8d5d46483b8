package limit

import (
	"fmt"
	"time"
)

// DebtTokens is how many tokens a settlement may charge beyond those that are there.
func (r *Rule) DebtTokens() int64 {
	switch {
	case r.Holds.MaxDebt == NoDebt, r.Holds.Longest == 0:
		return 0
	case r.Holds.MaxDebt > 0:
		return r.Holds.MaxDebt
	case r.Counts():
		return MaxCount
	}
	return r.Capacity
}

// TakesReceipts says whether a receipt of a check has an effect that was admitted by r. None has where nothing tells whether the bucket
// has been full since: a hold can be settled for nothing there.
func (r *Rule) TakesReceipts() bool { return !r.Queues() }

// Queues says whether the ledgers of the rule are of a bucket: what is admitted stands in a queue, and not in an entry of its time.
func (r *Rule) Queues() bool {
	_, queue := r.counting.(countedBucket)
	return queue
}

// AllowsHold refuses a hold that r does not take. Its error is a *FieldError.
func (r *Rule) AllowsHold(d time.Duration) error {
	switch {
	case r.Permits():
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("limit %s counts who is inside, by permits: check it for itself, with a receipt", Quote(r.Name))}
	case r.Holds.Longest == 0:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("limit %s takes no holds: give it hold: %s, the longest that one may last", Quote(r.Name), durationText(d))}
	case d > r.Holds.Longest:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is longer than limit %s allows: at most %s", durationText(d), Quote(r.Name), durationText(r.Holds.Longest))}
	}
	return nil
}

// checkHold checks what a request asks of a hold, by itself.
func (r *Request) checkHold() error {
	switch {
	case r.Hold == 0 && r.Lease == nil && r.Least != 0:
		return &FieldError{Field: "least", Problem: "belongs to a hold: leave it out, or say for how long to hold"}
	case r.Hold == 0:
		return nil
	case r.Hold < 0:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is negative", durationText(r.Hold))}
	case r.Hold < minHold:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is too short: at least %s", durationText(r.Hold), durationText(minHold))}
	case r.Look || r.Extend != 0 || r.Receipt:
		return &FieldError{Field: "hold", Problem: "a hold takes tokens, and is settled, not returned: leave look, extend and receipt out"}
	case r.Wait != 0:
		return &FieldError{Field: "wait", Problem: "a hold is taken at once or not at all: leave the wait out"}
	case r.Least < 0 || r.Least > r.Tokens():
		return &FieldError{Field: "least", Problem: fmt.Sprintf("%d is not from 1 to the cost, %d", r.Least, r.Tokens())}
	case r.Tokens() > MaxCount:
		return &FieldError{Field: "cost", Problem: fmt.Sprintf("%d is too much for a hold: at most %d", r.Tokens(), MaxCount)}
	}
	for i, ref := range r.Limits {
		if ref.Inline != nil && ref.Inline.Holds.Longest == 0 {
			return &FieldError{Field: fmt.Sprintf("limits[%d]", i), Problem: fmt.Sprintf("takes no holds: give it hold: %s, the longest that one may last", durationText(r.Hold))}
		}
	}
	return nil
}

// Debt is the line that settlements may spend beyond what checks at the same time may.
func (r *Rule) Debt() Pos { return r.debt }

// Owing is how many tokens a bucket at tat is overdrawn by at t, rounded up.
func (r *Rule) Owing(tat Pos, t int64) int64 {
	over := r.Sub(tat, r.Bound(t))
	if !over.After(Pos{}) {
		return 0
	}
	return r.tokensIn(r.Add(over, Pos{NS: int64((r.p - 1) / r.n), Frac: (r.p - 1) % r.n}))
}

// BoundOfDebt is the last position at which a span may end that a settlement spends at t.
func (r *Rule) BoundOfDebt(t int64) Pos { return r.Add(r.Bound(t), r.debt) }
