package load

import (
	"cmp"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// Limit is a rule as it stands in a history, which has no windows of a calendar.
func Limit(r *limit.Rule) history.Limit {
	l := history.Limit{Name: r.Name, Capacity: r.Capacity, Algorithm: r.Algorithm, Leased: r.Consistency == limit.Leased}
	switch {
	case r.Algorithm == limit.TokenBucket:
		l.Algorithm, l.Tokens, l.PerNS = history.TokenBucket, r.Refill.Tokens, int64(r.Refill.Per/time.Nanosecond)
	case r.Weighted:
		l.Algorithm, l.Length = history.Weighted, int64(r.Limit.Window)
	default:
		l.Length = int64(max(r.Limit.Window, r.Lease)) // a limit has one of them
	}
	if r.Holds.Longest > 0 {
		l.Holds, l.Debt = string(cmp.Or(r.Holds.OnExpiry, limit.Charge)), r.DebtTokens()
		if l.Debt == limit.MaxCount {
			l.Debt = history.Boundless
		}
	}
	return l
}

// HoldID is the name of a hold in one of its limits, as it stands in a history.
func HoldID(h limit.Held) string { return fmt.Sprintf("%016x", h.ID) }

// Receipt is a receipt as it stands in a history.
func Receipt(r limit.Receipt) *history.Receipt {
	kept := &history.Receipt{
		Generation: r.Generation, Span: span(r.Span), Owner: r.Owner.String(), Serial: r.Serial,
	}
	for _, again := range r.Reuses {
		kept.Reuses = append(kept.Reuses, span(again))
	}
	return kept
}

func span(s limit.Span) history.Span { return history.Span{Start: s.Start, End: s.End} }

// Decided notes in a check of one limit what came of it.
func Decided(c *history.Call, d limit.Decision, err error) {
	switch {
	case err != nil:
		c.Outcome, c.Error = history.Failed, err.Error()
	case !d.Allowed:
		c.Outcome = history.Denied
	default:
		c.Outcome, c.Wait = history.Admitted, int64(d.Wait)
		if len(d.Receipts) > 0 {
			c.Receipt = Receipt(d.Receipts[0])
		}
	}
}
