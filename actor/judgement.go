package actor

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A judgement is what overrides say of a check before any bucket is asked: limits that deny it, or that let it pass uncounted. The
// owner hears of the other limits alone; where one denies, as a look, so that nothing is charged.
type judgement struct {
	outcomes []limit.Outcome // of all limits of the request; those that the owner is asked for have no name
	denied   bool
	inline   uint32 // bit i: the request defines limit i
}

// judge notes what an override says of the i-th limit.
func (j *judgement) judge(i int, o *limit.Overriding, cost int64, now func() int64) {
	out := &j.outcomes[i]
	*out = limit.Outcome{Name: o.Rule.Name, Limit: o.Rule.Capacity}
	switch {
	case o.Verdict == limit.Passes:
		out.Allowed, out.Remaining = true, out.Limit
		return
	case cost == 0:
		out.Allowed = true // a look is always allowed, and sees that nothing is left
	default:
		j.denied = true
	}
	out.RetryAfter = limit.RetryOfBlock
	if o.Until != 0 {
		out.RetryAfter = max(time.Duration(o.Until-now()), 1)
	}
	out.ResetAfter = out.RetryAfter
	if out.Allowed {
		out.RetryAfter = 0
	}
}

// merge is the decision on all limits of the request, of what the owner has decided on those that it was asked for.
func (j *judgement) merge(d limit.Decision) limit.Decision {
	decided := d.Limits
	d.Limits = j.outcomes
	for i := range d.Limits {
		if d.Limits[i].Name == "" {
			d.Limits[i], decided = decided[0], decided[1:]
		}
	}
	d.Allowed = d.Allowed && !j.denied
	return d
}

// tell writes by what each limit has decided into the decision on all of them. The outcomes belong to the caller alone.
func tell(causes []limit.Cause, d limit.Decision) {
	for i := range min(len(causes), len(d.Limits)) {
		causes[i].Tell(&d.Limits[i])
	}
}
