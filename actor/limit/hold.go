package limit

import (
	"fmt"
	"strconv"
	"time"
)

// Holds says whether a limit takes holds, and how. A hold is a check whose cost is an estimate: it takes the tokens for a time, and a
// settlement says later how many were used. The zero Holds takes none.
type Holds struct {
	// Longest is how long a hold may last before it is settled or extended: the field "hold". From 1 s to 24 h, in whole milliseconds.
	Longest time.Duration
	// OnExpiry is what becomes of a hold that was not settled in that time; empty means Charge.
	OnExpiry Expiry
	// MaxDebt is how many tokens a settlement may charge beyond those that are there, at most; [NoDebt] for none. 0 means no bound where
	// entries are counted, and otherwise the capacity.
	MaxDebt int64
}

// An Expiry is what becomes of a hold that was not settled in time. A late settlement corrects it, for [SettleLate].
type Expiry string

// What becomes of a hold that expires.
const (
	Charge Expiry = "charge" // all that it holds was used
	Free   Expiry = "free"   // what no settlement has said to be used was not used
)

// NoDebt is the MaxDebt of a limit whose settlements charge no more tokens than there are. Documents call it 0.
const NoDebt = -1

// SettleLate is how long after a hold has expired a settlement still corrects it.
const SettleLate = 10 * time.Minute

// The range of the longest hold. A shorter one would expire while the answer is on its way; a longer one keeps tokens from others for
// more than a day.
const (
	minHold = time.Second
	maxHold = 24 * time.Hour
)

// holdFields are those of [Holds].
var holdFields = []string{"hold", "on_expiry", "max_debt"}

// check checks what a limit says of holds.
func (h *Holds) check() error {
	switch {
	case h.Longest == 0 && h.OnExpiry != "":
		return &FieldError{Field: "on_expiry", Problem: "belongs to holds, and this limit takes none: leave it out, or write hold: 10m, the longest that one may last"}
	case h.Longest == 0 && h.MaxDebt != 0:
		return &FieldError{Field: "max_debt", Problem: "belongs to holds, and this limit takes none: leave it out, or write hold: 10m, the longest that one may last"}
	case h.Longest == 0:
		return nil
	case h.Longest < minHold || h.Longest > maxHold:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is not between %s and %s", durationText(h.Longest), durationText(minHold), durationText(maxHold))}
	case h.Longest%time.Millisecond != 0:
		return &FieldError{Field: "hold", Problem: durationText(h.Longest) + " is no whole number of milliseconds, in which times are told"}
	case h.OnExpiry != "" && h.OnExpiry != Charge && h.OnExpiry != Free:
		return &FieldError{Field: "on_expiry", Problem: fmt.Sprintf("%s is neither charge nor free", Quote(string(h.OnExpiry)))}
	case h.MaxDebt != NoDebt && (h.MaxDebt < 0 || h.MaxDebt > MaxCount):
		return &FieldError{Field: "max_debt", Problem: fmt.Sprintf("%d is not from 0 to %d tokens", h.MaxDebt, MaxCount)}
	}
	return nil
}

// takesHolds gives r what it needs for the holds of its limit.
func (r *Rule) takesHolds() error {
	h := r.Holds
	if err := h.check(); err != nil || h.Longest == 0 {
		return err
	}
	if r.Counts() {
		return nil
	}
	if r.Algorithm == TokenBucket && r.Fill() > time.Duration(soon) {
		return &FieldError{Field: "hold", Problem: fmt.Sprintf(
			"an empty bucket takes %s to fill, and what a settlement returns of a hold may be lost with its owner until then: refill in at most %s, or use %s, whose holds are durable",
			readable(r.Fill()), durationText(time.Duration(soon)), FixedWindow)}
	}
	r.debt = r.Length(r.DebtTokens())
	r.reach += r.debt.Ceil()
	return nil
}

// DebtTokens is how many tokens a settlement may charge beyond those that are there.
func (r *Rule) DebtTokens() int64 {
	switch {
	case r.Holds.MaxDebt == NoDebt:
		return 0
	case r.Holds.MaxDebt > 0:
		return r.Holds.MaxDebt
	case r.Counts():
		return MaxCount
	}
	return r.Capacity
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
	case r.Hold == 0 && r.Least != 0:
		return &FieldError{Field: "least", Problem: "belongs to a hold: leave it out, or say for how long to hold"}
	case r.Hold == 0:
		return nil
	case r.Hold < 0:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is negative", durationText(r.Hold))}
	case r.Hold < minHold:
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is too short: at least %s", durationText(r.Hold), durationText(minHold))}
	case r.Look || r.Extend != 0 || r.Receipt:
		return &FieldError{Field: "hold", Problem: "is a check of its own: leave look, extend and receipt out"}
	case r.Wait != 0:
		return &FieldError{Field: "wait", Problem: "a hold is taken at once or not at all: leave the wait out"}
	case r.Least < 0 || r.Least > r.Tokens():
		return &FieldError{Field: "least", Problem: fmt.Sprintf("%d is not from 1 to the cost, %d", r.Least, r.Tokens())}
	case r.Tokens() > MaxCount:
		return &FieldError{Field: "cost", Problem: fmt.Sprintf("%d is too much for a hold: at most %d", r.Tokens(), MaxCount)}
	}
	for i, ref := range r.Limits {
		if ref.Inline != nil {
			return &FieldError{Field: fmt.Sprintf("limits[%d]", i), Problem: "is defined by the request: holds are for stored limits, by which they are settled"}
		}
	}
	return nil
}

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

// A HoldState is what a limit knows of a hold that is settled or looked at.
type HoldState string

// The states of a hold.
const (
	HoldOpen    HoldState = "open"    // its time is not over
	HoldExpired HoldState = "expired" // its time is over, and a settlement still corrects it
	HoldSettled HoldState = "settled" // for good
	// HoldLost says that the hold was in the memory of an owner that is gone: it is charged in full, and nothing of it comes back.
	HoldLost HoldState = "lost"
	// HoldUnknown says that the limit knows no such hold: it was reset, or the hold expired more than [SettleLate] ago, was settled many
	// settlements ago, or was never taken.
	HoldUnknown HoldState = "unknown"
)

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

func (l *Limit) holdText() string {
	if l.Holds.Longest == 0 {
		return ""
	}
	return durationText(l.Holds.Longest)
}

func readHold(l *Limit, text string) (err error) {
	if l.Holds.Longest, err = time.ParseDuration(text); err != nil {
		return &FieldError{Field: "hold", Problem: fmt.Sprintf("%s is not a duration, such as 10m or 90s", Quote(text))}
	}
	return nil
}

func (l *Limit) maxDebtText() string {
	switch l.Holds.MaxDebt {
	case 0:
		return ""
	case NoDebt:
		return "0"
	}
	return strconv.FormatInt(l.Holds.MaxDebt, 10)
}

func readMaxDebt(l *Limit, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return &FieldError{Field: "max_debt", Problem: fmt.Sprintf("%s is not a whole number of tokens from 0 to %d", Quote(text), MaxCount)}
	}
	l.Holds.MaxDebt = n
	if n == 0 {
		l.Holds.MaxDebt = NoDebt
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
