package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The times between two reports of an edge.
const (
	usualSync    = time.Second
	shortestSync = 100 * time.Millisecond
	longestSync  = 5 * time.Second
)

// leastDebt is the line of debt into which reports may bring any bucket that is eventual, in nanoseconds. It is a capacity where that is more.
const leastDebt = int64(time.Minute)

// consistencies are all of them, as documents write them.
var consistencies = []string{string(Strong), string(Leased), string(Eventual), string(OfEdge)}

// consistent checks the consistency of r, once all else is known.
func (r *Rule) consistent() error {
	c := r.Consistency
	switch {
	case c != "" && !slices.Contains(consistencies, string(c)):
		return &FieldError{Field: "consistency", Problem: fmt.Sprintf("unknown consistency %s: use %s", Quote(string(c)), either(consistencies))}
	case r.Sync != 0 && c != Eventual:
		return &FieldError{Field: "sync", Problem: "is how often edges report what they admit, which they do with consistency: eventual: leave it out"}
	case r.Sync != 0 && (r.Sync < shortestSync || r.Sync > longestSync || r.Sync%time.Millisecond != 0):
		return &FieldError{Field: "sync", Problem: fmt.Sprintf("%s is no whole number of milliseconds from %s to %s", durationText(r.Sync), durationText(shortestSync), durationText(longestSync))}
	case r.Share != "" && c != OfEdge:
		return &FieldError{Field: "share", Problem: "is how much of the limit each edge has, with consistency: local: leave it out"}
	case r.Share != "" && r.Share != PerEdge && r.Share != Divided:
		return &FieldError{Field: "share", Problem: fmt.Sprintf("unknown share %s: use %s or %s", Quote(string(r.Share)), PerEdge, Divided)}
	case r.Hot != "" && r.Hot != LeaseHot:
		return &FieldError{Field: "hot", Problem: fmt.Sprintf("unknown %s: use %s, or leave it out", Quote(string(r.Hot)), LeaseHot)}
	case r.Hot != "" && c != "" && c != Strong:
		return &FieldError{Field: "hot", Problem: fmt.Sprintf("is for limits whose owners decide, and %s has edges decide about all keys: leave hot out, or write consistency: strong", c)}
	case (c == "" || c == Strong) && r.Hot == "":
		return nil
	}
	if problem := r.needsOwner(); problem != "" {
		if r.Hot != "" {
			return &FieldError{Field: "hot", Problem: string(r.Hot) + " " + strings.Replace(problem, ", or write strong", ", or leave hot out", 1)}
		}
		return &FieldError{Field: "consistency", Problem: string(c) + " " + problem}
	}
	if c == Eventual {
		if r.debt = Later(r.Length(r.Capacity), At(leastDebt)); r.debt.Ceil() > int64(MaxFill)-r.reach {
			return errTooLong
		}
		r.reach += r.debt.Ceil()
	}
	r.terms = r.leaseTerms()
	return nil
}

// Decentral says whether edges may decide about a bucket of r.
func (r *Rule) Decentral() bool {
	return r.Consistency != "" && r.Consistency != Strong || r.LeasedWhenHot()
}

// needsOwner is why nobody but its owner can decide about a bucket of r, or empty.
func (r *Rule) needsOwner() string {
	switch {
	case r.Counts() && r.Holds.Longest > 0:
		return "is for limits that spend a line, and this one keeps a list of its holds: leave hold out, or write strong"
	case r.Counts():
		return fmt.Sprintf("is for limits that spend a line, and %s counts entries: use the algorithm %s, or write strong", r.Algorithm, strings.Join(Spending(), " or "))
	case r.Penalty != (Penalty{}):
		return "does not go together with a penalty, for which the owner counts every denial: leave penalty_after out, or write strong"
	case r.Consistency == Leased, r.Hot != "":
		return ""
	case r.Holds.Longest > 0:
		return "does not go together with hold: holds are taken at owners. Leave hold out, or write leased or strong"
	case r.MaxWait > 0:
		return "does not go together with wait: edges do not know what others have been given. Leave wait out, or write leased or strong"
	}
	return ""
}

// Reports is how often an edge tells the owner what it has admitted.
func (r *Rule) Reports() time.Duration {
	if r.Sync == 0 {
		return usualSync
	}
	return r.Sync
}

// AllowsCharge refuses a report of what was spent if r takes none. Its error is a *FieldError.
func (r *Rule) AllowsCharge() error {
	if r.Consistency != Eventual {
		return &FieldError{Field: "charge", Problem: fmt.Sprintf("limit %s takes no reports of what was spent: its consistency is not eventual", Quote(r.Name))}
	}
	return nil
}

// checkCharge checks what a request reports, by itself.
func (r *Request) checkCharge() error {
	switch {
	case !r.Charge && r.Report != nil:
		return &FieldError{Field: "report", Problem: "is about a charge, and there is none: write charge, or leave report out"}
	case !r.Charge:
		return nil
	case len(r.Limits) != 1 || r.Limits[0].Inline != nil:
		return &FieldError{Field: "limits", Problem: "what was spent is reported for one limit that is stored"}
	case r.Look && r.Report == nil || r.Extend != 0 || r.Receipt || r.Wait != 0 || r.Hold != 0 || r.ID != "" || r.Lease != nil:
		return &FieldError{Field: "charge", Problem: "reports what was spent, and asks for nothing: leave look, extend, receipt, wait, hold, lease and request_id out"}
	}
	if r.Report != nil {
		return r.Report.validate()
	}
	return nil
}

func (l *Limit) syncText() string {
	if l.Sync == 0 {
		return ""
	}
	return durationText(l.Sync)
}

func readSync(l *Limit, text string) (err error) {
	if l.Sync, err = time.ParseDuration(text); err != nil {
		return &FieldError{Field: "sync", Problem: fmt.Sprintf("%s is not a duration, such as 1s or 250ms", Quote(text))}
	}
	return nil
}
