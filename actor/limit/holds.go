package limit

import (
	"fmt"
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

// MaxCount is the most that a limit which counts entries may be, and that a hold or a settlement may say.
const MaxCount = int64(1e15)

// maxEntry is the most that an entry of a ledger can be: a full limit and its debt, and what a bucket has not moved on by.
const maxEntry = 4 * uint64(MaxCount)

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
