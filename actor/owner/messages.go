package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// A Check is a request whose limits have been found, as it waits for its decision.
type Check struct {
	Tag      any // comes back with the Reply
	At       int64
	Deadline int64 // node clock; after it no decision is made
	Rules    []*limit.Rule
	Cost     int64
	Receipts bool
	Wait     int64 // how much later than At it may be admitted, in nanoseconds; no more than every rule allows
	// Extend is the id of a permit that is to last longer, in place of a new one; 0 for none. The one rule must have permits.
	Extend uint64
	// Hold is for how long the check holds its cost, in nanoseconds; 0 for no hold. All rules must allow it. Least, if not 0, is the
	// least that it may hold: the cost is lowered to what is left.
	Hold, Least int64
	// Lease is how long line is to last that is passed down to an edge, in nanoseconds; 0 for no lease. The cost is how many tokens it wants, and is
	// lowered to what there is for it, at least Least. There is one rule, which spends a line and has no penalty, and the check takes no receipts, waits for nothing and holds nothing.
	Lease int64
	// LeaseAfter is how long after At the line of a lease begins at the earliest, and at which it is over: see [limit.LeaseAsk].
	LeaseAfter int64
	// Edge is the name of who asks for a lease, and EdgeHas how many tokens it has still, for people.
	Edge    string
	EdgeID  uint64 // tells it from others of that name
	EdgeHas int64
	// Charges says that the cost was spent already: it is charged as far as the debt of the one rule allows, whatever is left. Otherwise the check is a plain one.
	Charges bool
	// Report says more about what is charged; nil for nothing.
	Report *limit.Report
	// Outcomes is memory for the Limits of the Reply's Decision. What its capacity has no room for is allocated.
	Outcomes []limit.Outcome

	counted bool // its length is part of its buckets' demand
	ended   bool // the permit that it extends was not inside when the replicas were asked, after the check had come
}

// expires is when the hold of a check does; 0 for no hold.
func (c *Check) expires() int64 {
	if c.Hold == 0 {
		return 0
	}
	return c.At + c.Hold
}

// A Reply answers a Check or a reset: a Decision, or the error because of which there is none.
type Reply struct {
	Tag      any
	Decision limit.Decision
	Lease    *limit.Lease // what a check for a lease has got; nil for others, and for a denial
	Err      error
}

// A Permit is one that has come back. Any owner takes it out, whichever gave it:
//
//	claim the ledger, unless it is the latest ─▶ write it without the permit ─▶ it was inside: it is out
//	                                                                        └─▶ it was not: it had ended, or was taken out before
//
// A ledger in which it is not inside is written too. What a claim is told may be too little: an owner that goes on from what only a
// minority has stored would bring the permit back.
type Permit struct {
	Rule *limit.Rule // of the limit that gave it, or another one with the same register
	ID   uint64
	// Out says in the end whether it was inside, and a majority has stored that it is so no more.
	Out bool

	over bool // Out is known
	sent bool // the ledger that is being written is without it, …
	left bool // … and it was inside before

	claimed bool // the ledger was claimed after it had come
}

// A Send asks all replicas for the segment (From, To] of a bucket's line. The same Seq again is a repetition.
type Send struct {
	Limit      string // the name of the register: see [limit.Rule.Register]
	Seq        uint64
	Epoch      uint64
	Generation int64
	From, To   int64
	Reach      int64
	Lead       int64 // how long before From line behind it can have been reserved; 0 means Reach
	Inline     bool  // a request has defined the limit
	Background bool  // no check waits for it

	// Of limits that count entries: the latest ledger is asked for, or the one to be written and how long it must be kept.
	Claim  bool
	Ledger []byte
	Expire int64
}

// An Answer is what one replica says to a Send.
type Answer struct {
	Replica    int    // its index, below Config.Replicas
	Limit      string // of the Send
	Seq        uint64
	Epoch      uint64 // of the Send
	Verdict    Verdict
	Position   int64 // To when accepted; otherwise from where on the replica's line is free
	Generation int64 // what Position is for
	Floored    bool  // a floor closes the bucket at the replica
	// To an accepted claim: the replica's ledger, and its version, 0 for none.
	Version int64
	Ledger  []byte
}

// A Verdict is what a replica said to a reservation.
type Verdict uint8

// The verdicts that an owner tells apart.
const (
	Accepted  Verdict = iota + 1
	Refused           // the line is not free
	Skewed            // this owner's clock differs too much from the replica's
	Reset             // the bucket has entered a newer generation
	Lost              // the replica will not answer: it has ended, or cannot be reached
	Elsewhere         // the replica does not serve this epoch; of the line it says nothing
	Gone              // the replica is lost, and has been for longer than any check would wait for it
	Full              // the replica has no room for a bucket of a limit that a request defines
)

// VerdictOf is what a replica's verdict means to an owner. One that this version does not know tells it nothing.
func VerdictOf(v register.Verdict) Verdict {
	switch v {
	case register.Accepted:
		return Accepted
	case register.Taken, register.TooFar:
		return Refused
	case register.OldGeneration:
		return Reset
	case register.Skewed:
		return Skewed
	case register.Full:
		return Full
	case register.WrongEpoch, register.Sealed, register.OtherBase: // the last one is no owner's: the whole is sent before it hears
	}
	return Elsewhere
}

// hasPosition says whether the answer says where the replica's line is free.
func (v Verdict) hasPosition() bool { return v != 0 && v != Lost && v != Gone && v != Elsewhere }
