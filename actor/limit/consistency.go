package limit

import (
	"fmt"
	"strings"
)

// consistencies are all of them.
var consistencies = []string{string(Strong), string(Leased)}

// consistent checks the consistency of r, once all else is known.
func (r *Rule) consistent() error {
	switch r.Consistency {
	case "", Strong:
		return nil
	case Leased:
	default:
		return &FieldError{Field: "consistency", Problem: fmt.Sprintf("unknown consistency %s: use %s", Quote(string(r.Consistency)), strings.Join(consistencies, " or "))}
	}
	var problem string
	switch {
	case r.Counts() && r.Holds.Longest > 0:
		problem = "is for limits that spend a line, and this one keeps a list of its holds: leave hold out, or write strong"
	case r.Counts():
		problem = fmt.Sprintf("is for limits that spend a line, and %s counts entries: use the algorithm %s, or write strong", r.Algorithm, strings.Join(Spending(), " or "))
	case r.Penalty != (Penalty{}):
		problem = "does not go together with a penalty, for which the owner counts every denial: leave penalty_after out, or write strong"
	default:
		r.terms = r.leaseTerms()
		return nil
	}
	return &FieldError{Field: "consistency", Problem: string(r.Consistency) + " " + problem}
}
