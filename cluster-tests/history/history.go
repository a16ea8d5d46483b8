// Package history judges what the callers of a rate limiter saw. A history is a list of calls with the times at which
// they began and ended, of the limits that were in force, and of the faults that were made meanwhile. The checkers find in
// it whether a limit was ever exceeded, whether line was spent twice, and whether enough was admitted. They know nothing of
// how the limiter works inside, except what a receipt means, and the package depends on no code of the limiter.
//
// Start with [Check], or with [Read] for a history that was written to a file; the command in the folder check does both.
package history

import (
	"fmt"
	"strings"
)

// A History is what was seen of a limiter from outside.
type History struct {
	// Limits are those that were checked. A limit that was changed stands here once for each change, with its time.
	Limits []Limit
	// Calls are what callers asked, in any order.
	Calls []Call
	// Faults are what was done to the limiter meanwhile, and the marks at which it was whole again.
	Faults []Fault
}

// A Limit is a token bucket: Capacity tokens, refilled with Tokens every PerNS nanoseconds. All three are at least 1, Tokens
// at most 2⁵⁰, PerNS at most 2⁶⁰, and an empty bucket takes less than 2⁶¹ ns to fill. Or it has another Algorithm, and admits
// Capacity in a window of Length nanoseconds, or has so many permits, which last for Length. Then Tokens and PerNS are 0.
type Limit struct {
	Name      string
	Algorithm string // one of [Algorithms], or empty for a token bucket
	Capacity  int64
	Tokens    int64
	PerNS     int64
	Length    int64 // at least 1, and at most 2⁵⁶
	// Holds says that the limit takes holds, and what becomes of one that expires: [Charge] or [Free]; empty if it takes none. Debt is how
	// many tokens settlements may charge beyond the Capacity, [Boundless] for any number.
	Holds string
	Debt  int64
	// Leased says that others than owners may spend line of it, and give back to owners what they do not need, which no call tells.
	Leased bool
	// At is when a change to this limit began, in nanoseconds since the Unix epoch; 0 for the limit from the beginning.
	At int64
	// By is when all nodes kept to it. Between At and By this limit or the one before may have been in force. 0 means At.
	By int64
}

// Boundless is the Debt of a limit that charges all that was used.
const Boundless = int64(1 << 50)

// A Call is one request for one bucket, as its caller saw it.
type Call struct {
	Kind    Kind
	Outcome Outcome
	Limit   string // its name
	Key     string
	// Cost is in tokens, 0 to 2⁵⁰: of a check; of a hold what it was granted, or asked for if it was granted nothing; of a settlement what
	// it says was used.
	Cost int64
	// Start and End are the caller's clock before and after, in nanoseconds since the Unix epoch.
	Start, End int64
	// Wait is how long after its decision the caller of an admitted check may begin, in nanoseconds, from 0 to [MaxWait].
	Wait int64
	// Receipt is the proof of an admission, nil if the caller has none, or what a return gives back, or the permit that was to be
	// extended; where it was, the receipt of the answer.
	Receipt *Receipt
	// Hold is that of a hold that was admitted, or of a settlement.
	Hold  *Hold
	Via   string // the node or gateway that was asked, for people to read
	Error string // why a call failed, for people to read
}

// A Kind says what a call asks for.
type Kind uint8

// The kinds of calls.
const (
	KindCheck  Kind = iota + 1 // may this key spend Cost tokens?
	KindReturn                 // what Receipt proves is given back
	KindReset                  // the bucket is to be full
	KindExtend                 // the permit of Receipt is to last its lease from now on
	KindHold                   // may this key hold Cost tokens for a time?
	KindSettle                 // Cost tokens of a hold were used
)

// costs says whether calls of the kind have a cost.
func (k Kind) costs() bool { return k == KindCheck || k == KindHold || k == KindSettle }

// String is the kind as it stands in a file.
func (k Kind) String() string { return name(kinds(), k, "kind") }

func kinds() []string { return []string{"check", "return", "reset", "extend", "hold", "settle"} }

// An Outcome says what came of a call.
type Outcome uint8

// The outcomes of calls. Each kind of call has two or three of them.
const (
	Admitted Outcome = iota + 1 // of a check, of an extension, or of a hold
	Denied                      // likewise
	Taken                       // of a return: it took effect
	Ignored                     // of a return: it had none
	Done                        // of a reset, or of a settlement
	Failed                      // of any call: whether it took effect, now or later, is not known
)

// String is the outcome as it stands in a file.
func (o Outcome) String() string { return name(outcomes(), o, "outcome") }

func outcomes() []string { return []string{"admitted", "denied", "taken", "ignored", "done", "failed"} }

// fits says whether a call of that kind can have that outcome.
func (o Outcome) fits(k Kind) bool {
	switch o {
	case Admitted, Denied:
		return k == KindCheck || k == KindExtend || k == KindHold
	case Taken, Ignored:
		return k == KindReturn
	case Done:
		return k == KindReset || k == KindSettle
	case Failed:
		return k >= KindCheck && k <= KindSettle
	}
	return false
}

// name is the n-th of some names, counted from 1.
func name[N ~uint8](names []string, n N, what string) string {
	if n == 0 || int(n) > len(names) {
		return fmt.Sprintf("%s %d", what, n)
	}
	return names[n-1]
}

// A Span is a piece of a bucket's line from Start (excluded) to End (included), in nanoseconds since the Unix epoch. Both
// ends are exact positions that were rounded down.
type Span struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// A Receipt proves an admission: it names the piece of the bucket's line that the admission spent.
type Receipt struct {
	// Generation goes up when the bucket is reset. It is a position on the line, or 0: line that lies beyond it is not
	// spent again because of the reset.
	Generation int64 `json:"generation,string"`
	Span
	Owner  string `json:"owner"`            // the process that decided: one life of a node
	Serial uint64 `json:"serial"`           // with owner, generation and span, tells receipts of one bucket apart
	Reuses []Span `json:"reuses,omitempty"` // pieces that had been returned, and were spent again
}

// A Fault is something that was done to the limiter from Start to End, on the callers' clock.
type Fault struct {
	Start, End int64
	What       string // for people to read; or, if it begins with "healed", a mark that all faults are over
	// Held is for how long, in nanoseconds, a node whose clock the fault makes wrong may spend what it holds already: until
	// it compares its clock with the others'. 0 of a fault that leaves the clocks alone.
	Held int64
}

// Healed says whether f is no fault but the mark that everything has been made whole again.
func (f Fault) Healed() bool { return strings.HasPrefix(f.What, "healed") }
