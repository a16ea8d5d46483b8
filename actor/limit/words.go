package limit

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/internal/plain"
)

// Words say for people what a limit said: what is left, and when the request passes, or that it never will. Whatever tells people of
// an outcome uses them, so that they read the same everywhere.
func (o *Outcome) Words() string { return o.WordsIn("") }

// WordsIn are the Words with a unit, such as "tokens"; empty for none.
func (o *Outcome) WordsIn(unit string) string {
	text := o.Left(unit) + " left"
	if o.Leased > 0 {
		text += fmt.Sprintf(", and at most %d at gateways and clients", o.Leased)
	}
	if o.Closed {
		text = "closed by a penalty for denials in a row"
	}
	switch {
	case o.Never || !o.Allowed:
		return text + "; " + o.Passes()
	case o.ResetAfter > 0:
		return text + "; full again in " + plain.Duration(o.ResetAfter)
	}
	return text
}

// Left says how much of the limit is left, in a unit as WordsIn has it: "2 of 10 tokens".
func (o *Outcome) Left(unit string) string {
	return strings.TrimSpace(fmt.Sprintf("%d of %d %s", o.Remaining, o.Limit, unit))
}

// By says by what a limit decided in the place of its own numbers, as in `plan pro` and `override: deny for "user:7"`; empty for nothing.
func (o *Outcome) By() string {
	switch {
	case o.Override != "":
		return "override: " + o.Override
	case o.Plan != "":
		return "plan " + o.Plan
	}
	return ""
}

// Passes says when a request passes that this limit denied; it is empty if it did not.
func (o *Outcome) Passes() string {
	switch {
	case o.Ended:
		return "the permit has ended; only a new check can enter"
	case o.Never:
		return "the cost is above the capacity and can never pass"
	case !o.Allowed:
		return "try again in " + plain.Duration(o.RetryAfter)
	}
	return ""
}

// Denying is the limit for which a denied request waits: one that it can never pass, or else the one with the longest wait. It is nil
// if none denied.
func (d *Decision) Denying() *Outcome {
	var worst *Outcome
	for i := range d.Limits {
		o := &d.Limits[i]
		if o.Allowed && !o.Never {
			continue
		}
		if o.Never {
			return o
		}
		if worst == nil || o.RetryAfter > worst.RetryAfter {
			worst = o
		}
	}
	return worst
}
