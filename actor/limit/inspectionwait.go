package limit

import "time"

// Wait is how long until a check of that cost passes, if no other check spends anything before: 0 if it would pass now. What an override
// says in place of the bucket is left aside.
func (in *Inspection) Wait(cost int64) time.Duration {
	return max(in.waitOpen(cost), time.Duration(in.Closed-in.Now))
}

// waitOpen is Wait, as if no penalty closed the bucket.
func (in *Inspection) waitOpen(cost int64) time.Duration {
	if in.Rule.Counts() {
		l, err := in.Counted()
		if err != nil {
			return 0
		}
		return l.Outcome(in.Rule, in.Now, cost, in.Held, false).RetryAfter
	}
	tat := At(in.TAT - in.Credit)
	end := in.Rule.End(tat, in.Now, in.Rule.Length(cost))
	return in.Rule.Outcome(tat, in.Now, cost, end, false).RetryAfter
}

// spendable is the line that checks can spend now, as far as the algorithm goes: parts of it may be spent already. It is nil for a limit
// that counts entries.
func (in *Inspection) spendable() *Span {
	if in.Rule.Counts() {
		return nil
	}
	return &Span{Start: in.Rule.Begin(in.Now), End: in.Rule.Bound(in.Now).NS}
}
