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
	// Outcomes is memory for the Limits of the Reply's Decision. What its capacity has no room for is allocated.
	Outcomes []limit.Outcome

	counted bool // its length is part of its buckets' demand
}

// A Reply answers a Check or a reset: a Decision, or the error because of which there is none.
type Reply struct {
	Tag      any
	Decision limit.Decision
	Err      error
}

// A Send asks all replicas for the segment (From, To] of a bucket's line. The same Seq again is a repetition.
type Send struct {
	Limit      string
	Seq        uint64
	Epoch      uint64
	Generation int64
	From, To   int64
	Reach      int64
	Inline     bool // a request has defined the limit
	Background bool // no check waits for it
}

// An Answer is what one replica says to a Send.
type Answer struct {
	Replica    int // its index, below Config.Replicas
	Limit      string
	Seq        uint64
	Epoch      uint64 // of the Send
	Verdict    Verdict
	Position   int64 // To when accepted; otherwise from where on the replica's line is free
	Generation int64 // what Position is for
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
	case register.WrongEpoch, register.Sealed:
	}
	return Elsewhere
}

// hasPosition says whether the answer says where the replica's line is free.
func (v Verdict) hasPosition() bool { return v != 0 && v != Lost && v != Gone && v != Elsewhere }
