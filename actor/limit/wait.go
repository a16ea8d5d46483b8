package limit

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A check that waits is decided as one that comes later: its owner finds the first time, from now on, at which a check without wait
// would be admitted, takes the span that this one would take, and tells the caller to begin then. So spans lie ahead of the times at
// which their callers begin by no more than those of other checks, and the bound of the limit holds for what callers begin.
//
//	     t                    t + wait              t + wait + τ
//	─────┴───────────────────────┴──────────────┬────────┴────▶ line
//	      spent, up to TAT ────────────────────▶│◀ span ▶│
//
// Who comes later is given line further on, and so begins later.

func (l *Limit) maxWaitText() string {
	if l.MaxWait == 0 {
		return ""
	}
	return durationText(l.MaxWait)
}

func readMaxWait(l *Limit, text string) (err error) {
	if l.MaxWait, err = time.ParseDuration(text); err != nil {
		return &FieldError{Field: "wait", Problem: fmt.Sprintf("%s is not a duration, such as 2s or 500ms", Quote(text))}
	}
	return nil
}

// checkMaxWait checks the longest wait of a limit.
func (l *Limit) checkMaxWait() error {
	if l.MaxWait%time.Millisecond != 0 {
		return &FieldError{Field: "wait", Problem: durationText(l.MaxWait) + " is no whole number of milliseconds, in which times are told"}
	}
	return checkWait(l.MaxWait)
}

// checkWait checks a wait by itself.
func checkWait(d time.Duration) error {
	switch {
	case d < 0:
		return &FieldError{Field: "wait", Problem: fmt.Sprintf("%s is negative: leave it out to wait for nothing", durationText(d))}
	case d > LongestWait:
		return &FieldError{Field: "wait", Problem: fmt.Sprintf("%s is too long: at most %s, the longest deadline", durationText(d), durationText(LongestWait))}
	}
	return nil
}

// IsNoWait says whether the error of a check means that a limit does not let it wait for so long. It is known by its field, also on its
// way from a node.
func IsNoWait(err error) bool {
	fe, ok := errors.AsType[*FieldError](err)
	return ok && (fe.Field == "wait" || strings.HasSuffix(fe.Field, ".wait"))
}

// AllowsWait refuses a check that would wait longer than checks of r may. Its error is a *FieldError.
func (r *Rule) AllowsWait(d time.Duration) error {
	switch {
	case d <= r.MaxWait:
		return nil
	case r.Counts():
		return &FieldError{Field: "wait", Problem: fmt.Sprintf("limit %s counts by %s, which says nothing of a time to come: leave the wait out, or use %s",
			Quote(r.Name), r.Algorithm, strings.Join(Spending(), " or "))}
	case r.MaxWait == 0:
		return &FieldError{Field: "wait", Problem: fmt.Sprintf("limit %s lets no check wait: leave the wait out, or give the limit wait: %s", Quote(r.Name), durationText(d))}
	}
	return &FieldError{Field: "wait", Problem: fmt.Sprintf("%s is more than limit %s allows: at most %s", durationText(d), Quote(r.Name), durationText(r.MaxWait))}
}
