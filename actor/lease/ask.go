package lease

import "github.com/jeton-dev/jeton/actor/limit"

// An Ask is for a lease, or reports what was admitted. It is none if its Number is 0.
type Ask struct {
	Number uint64
	Tokens int64
	Least  int64 // of a lease: fewer are of no use
	Report bool
	Asked  int64 // of a report: for how many tokens the edge was asked
	Age    int64 // of a report: how long ago its tokens were spent, in nanoseconds
	Life   int64 // of a lease, in nanoseconds
	Held   int64 // tokens that the edge has still
}

// An Answer is to an ask.
type Answer struct {
	Number    uint64
	Sent, Now int64 // when the edge sent the ask, and has the answer
	Lease     *limit.Lease
	Reported  *limit.Reported // to a report; nil for no answer
	Outcome   limit.Outcome   // what the limit said; zero for none
	Random    float64         // from 0 to 1: pauses are spread by it
}

// A Verdict says what becomes of a check.
type Verdict uint8

// The verdicts.
const (
	Elsewhere Verdict = iota // the owner is to decide
	Spent                    // admitted
	Denied                   // by what the edge knows, or has
	Waits                    // for the answer to the open ask: see Holding.Again
)
