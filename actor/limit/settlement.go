package limit

import (
	"fmt"
	"time"
)

// A Settlement says what became of a hold.
type Settlement struct {
	Hold Hold
	// Used is how many tokens were used of it so far, in all.
	Used int64
	// Open says that more may be used: the hold goes on until its time.
	Open bool
	// For, if not 0, makes the hold last for so long from now on. It must be Open.
	For time.Duration
}

// Validate checks everything about s that does not depend on the stored limits. Its errors are *FieldError.
func (s *Settlement) Validate() error {
	if err := s.Hold.validate(); err != nil {
		return err
	}
	switch {
	case s.Used < 0:
		return &FieldError{Field: "cost", Problem: fmt.Sprintf("%d is negative: say how many tokens were used, 0 for none", s.Used)}
	case s.Used > MaxCount:
		return &FieldError{Field: "cost", Problem: fmt.Sprintf("%d is too much: at most %d", s.Used, MaxCount)}
	case s.For < 0 || s.For > 0 && s.For < minHold:
		return &FieldError{Field: "for", Problem: fmt.Sprintf("%s is too short: at least %s", durationText(s.For), durationText(minHold))}
	case s.For > 0 && !s.Open:
		return &FieldError{Field: "for", Problem: "the settlement ends the hold: say that it is open, or leave the time out"}
	}
	return nil
}

// Settled is what a settlement came to. A repeated settlement gets the same answer.
type Settled struct {
	// Charged is how many tokens the hold has taken now, and Returned how many fewer than it held that is: of the limit that charged most.
	Charged, Returned int64
	// Debt is by how many tokens the limit is overdrawn that is so most.
	Debt int64
	// Until is when the hold expires, in nanoseconds since the Unix epoch; 0 once it is settled for good.
	Until  int64
	Limits []SettledLimit // one for each of the hold's
}

// A SettledLimit is what a settlement came to for one limit of the hold.
type SettledLimit struct {
	Name     string    `json:"name"`
	State    HoldState `json:"state"`
	Charged  int64     `json:"charged"`  // tokens that the hold has taken
	Returned int64     `json:"returned"` // how many fewer than it held these are
	Debt     int64     `json:"debt"`     // by how many tokens the bucket is overdrawn
	// Until is when the hold expires, in nanoseconds since the Unix epoch; 0 once it is settled for good.
	Until int64 `json:"until_ns,omitempty,string"`
}

// SumSettled is the answer to a settlement that came to this for each limit.
func SumSettled(limits []SettledLimit) Settled {
	s := Settled{Limits: limits}
	for i := range limits {
		l := &limits[i]
		if l.State == HoldUnknown {
			continue
		}
		if l.Charged > s.Charged || s.Charged == 0 && l.Returned > s.Returned {
			s.Charged, s.Returned = l.Charged, l.Returned
		}
		s.Debt = max(s.Debt, l.Debt)
		if l.Until > 0 && (s.Until == 0 || l.Until < s.Until) {
			s.Until = l.Until
		}
	}
	return s
}

// Known says whether any limit knew of the hold.
func (s *Settled) Known() bool {
	for i := range s.Limits {
		if s.Limits[i].State != HoldUnknown {
			return true
		}
	}
	return len(s.Limits) == 0
}
