package history

// What becomes of a hold that expires, as a limit says.
const (
	Charge = "charge" // it takes what it holds
	Free   = "free"   // it takes what settlements have said that it used
)

// A Hold is what a call says of one. A hold takes its cost for a time; a settlement says how much of it was used.
type Hold struct {
	// ID tells the holds of one bucket apart.
	ID string `json:"id"`
	// For is how long it lasts, in nanoseconds: of a hold from its decision on, of a settlement from then on, or 0.
	For int64 `json:"for_ns,omitempty"`
	// Open says of a settlement that it does not end the hold.
	Open bool `json:"open,omitempty"`
	// State and Charged are the answer to a settlement that was done: one of the states, and how many tokens the hold has taken.
	State   string `json:"state,omitempty"`
	Charged int64  `json:"charged,omitempty"`
}

// The states of a hold, as settlements are answered.
const (
	Settled = "settled" // for good
	Open    = "open"
	Expired = "expired" // and not settled for good
	Lost    = "lost"    // with the process that took it: it is charged at least in full
	Unknown = "unknown" // it is not known any more
)

// settleLate is how long after a hold has expired a settlement still corrects it, in nanoseconds.
const settleLate = int64(600e9)
