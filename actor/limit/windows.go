package limit

import (
	"fmt"
	"time"
)

// windows are what the algorithms have in common that count what was admitted in a window before now.
type windows struct{ length int64 }

// check checks the length of a window that moves.
func (windows) check(length, least time.Duration) error {
	switch {
	case length == 0:
		return &FieldError{Field: "window", Problem: "is missing: say how long a window lasts, such as 1m"}
	case length < least:
		return &FieldError{Field: "window", Problem: fmt.Sprintf("%s is too short: at least %s", durationText(length), durationText(least))}
	}
	return checkWindow(length)
}

// newCounted makes a rule whose buckets count entries, up to most.
func newCounted(l Limit, most int64) (*Rule, error) {
	if l.Capacity > most {
		return nil, &FieldError{Field: "limit", Problem: fmt.Sprintf("%d is too large: at most %d", l.Capacity, most)}
	}
	return newRule(l, 1, 1)
}

// Fill is the length of a window.
func (w windows) Fill() time.Duration { return time.Duration(w.length) }

// Window is the time until nothing counts any more, or a whole window if nothing does.
func (w windows) Window(_ int64, resetAfter time.Duration) time.Duration {
	if resetAfter == 0 {
		return w.Fill()
	}
	return resetAfter
}

// Part is the same window with that part of the limit, rounded down but at least 1.
func (windows) Part(l Limit, n int) (part Limit, ok bool) {
	l.Capacity = max(l.Capacity/int64(n), 1)
	return l, true
}

// Envelope is the limit in every window.
func (w windows) Envelope(l Limit) Envelope {
	return Envelope{Burst: l.Capacity, Refill: Refill{Tokens: l.Capacity, Per: w.Fill()}}
}
