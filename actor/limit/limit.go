// Package limit is the vocabulary of jeton and its pure arithmetic: what a limit is, what a check asks, what a
// decision answers, and how a token bucket counts. It has no clock, no goroutine and no I/O; time is always an
// argument. Every other package speaks in its terms.
//
// Start with [Checker], the one interface that every layer of jeton implements, and [Rule], a limit made ready to
// decide.
package limit

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// Checker decides checks. The actor system, the client, the router and an embedded node are Checkers, stacked on one
// another as [net/http.Handler]s are.
type Checker interface {
	// Check decides r and charges its cost when every limit of r allows it, or charges nothing. A denial is a
	// Decision; an error means that no decision was made: a [*FieldError] for a request that can never be decided,
	// [ErrUnknownLimit], [ErrOverloaded], [ErrUnavailable], or the error of ctx. After an error of the last three
	// kinds the cost may or may not have been charged. Check is safe for concurrent use.
	Check(ctx context.Context, r Request) (Decision, error)
}

// A Result is one answer of a [BatchChecker]: a Decision, or the error that stood in its way.
type Result struct {
	Decision Decision
	Err      error
}

// BatchChecker is a Checker that takes many requests at once, more cheaply than one by one.
type BatchChecker interface {
	Checker
	// CheckBatch decides every request by itself and answers in the order of the requests. Requests of one key are
	// decided in their order. It takes at most [MaxBatch] requests; more are a *FieldError in every Result.
	CheckBatch(ctx context.Context, rs []Request) []Result
}

// EachChecker is a BatchChecker whose answers do not wait for each other.
type EachChecker interface {
	BatchChecker
	// CheckEach is CheckBatch, but that each answer is given as soon as there is one: done is called once for every
	// request, with its place in rs, at the latest when ctx ends. It is called from any goroutine, from several at once,
	// and before or after CheckEach returns, which waits for no decision. It must return soon, and ask nothing of the
	// Checker. The requests must not be changed until then.
	CheckEach(ctx context.Context, rs []Request, done func(place int, r Result))
}

// Returner is a Checker that takes back what it admitted.
type Returner interface {
	// Return gives back the admissions of key that the receipts prove. It says for each whether it took effect: only
	// the owner that made a receipt can take it back, once, and while the bucket has not been full and the limit has kept
	// its numbers since; anywhere else a return is acknowledged without effect. A return that takes effect forgets the
	// request's ID. It takes at most [MaxReturn] receipts; more are a *FieldError, and nothing is given back.
	Return(ctx context.Context, key string, receipts []Receipt) ([]bool, error)
}

// Inspector is a Checker whose buckets can be looked at.
type Inspector interface {
	// Inspect tells the state of one bucket. Looking changes nothing.
	Inspect(ctx context.Context, key string, ref Ref) (Inspection, error)
}

// Resetter is a Checker whose buckets can be made full again.
type Resetter interface {
	// Reset fills one bucket. On return the reset is as durable as an admission. What owners had reserved before it
	// may still be spent once.
	Reset(ctx context.Context, key string, ref Ref) error
}

// Limiter is everything a caller can ask of a jeton node.
type Limiter interface {
	BatchChecker
	Returner
	Inspector
	Resetter
}

// Policy says what a gateway does with a request when no decision can be had.
type Policy string

// The policies. The zero value of a Limit's policy means Allow.
const (
	Allow Policy = "allow" // let it through
	Deny  Policy = "deny"  // refuse it
	Local Policy = "local" // decide by a bucket of the gateway's own
)

// A Limit is a named rule as people write it. [Limit.Rule] checks it and makes it ready to decide.
type Limit struct {
	// Name is 1 to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit.
	Name string `json:"name"`
	// Algorithm is one of [Algorithms]; empty means "token-bucket".
	Algorithm string `json:"algorithm,omitempty"`
	// Capacity is the most tokens that the bucket holds, at least 1.
	Capacity int64 `json:"capacity"`
	// Refill is how fast tokens come back.
	Refill Refill `json:"refill"`
	// OnUnavailable is what gateways do when no decision can be had; empty means Allow.
	OnUnavailable Policy `json:"on_unavailable,omitempty"`
}

// A Ref says which limit is meant: a stored one by its name, or one that the request defines itself.
type Ref struct {
	Name   string // of a stored limit; the name of Inline when that is set
	Inline *Limit // a limit that is not stored; nil for a stored one
}

// Named refers to the stored limit with that name.
func Named(name string) Ref { return Ref{Name: name} }

// Inline refers to l, a limit that is not stored. Its buckets are found by its name, like those of a stored one.
func Inline(l Limit) Ref { return Ref{Name: l.Name, Inline: &l} }

// A Request is one check: may Key spend Cost tokens of every one of Limits?
type Request struct {
	// Key is who is limited: 1 to 512 bytes of UTF-8.
	Key string
	// Limits are 1 to [MaxLimits] limits with different names. All of them admit, or none is charged.
	Limits []Ref
	// Cost in tokens, taken from every limit; 0 means 1. A cost above a capacity can never pass.
	Cost int64
	// Look asks what the limits have left and takes nothing. It has no Cost.
	Look bool
	// ID, if not empty, makes a repeated request get the answer of the first one, as long as the owner that gave it
	// still remembers it. At most 128 bytes of UTF-8.
	ID string
	// Receipt asks for receipts, the proof of the admission and the means to return it.
	Receipt bool
}

// Tokens is what r takes from every limit: its cost, or nothing for a look.
func (r *Request) Tokens() int64 {
	if r.Look {
		return 0
	}
	return cmp.Or(r.Cost, 1)
}

// A Decision is the answer to a Request.
type Decision struct {
	Allowed  bool      // every limit allowed it
	Limits   []Outcome // one for each limit of the request, in its order
	Receipts []Receipt // one for each limit, if the request asked for them, was allowed, and cost more than 0
	// Node is the address of the node that answered; empty when the Checker that was asked decided by itself. It is known
	// to the caller alone, and travels in no form of a Decision.
	Node string
}

// An Outcome is what one limit says to a request.
type Outcome struct {
	Name      string
	Allowed   bool  // this limit alone would have allowed it
	Never     bool  // the cost is above the capacity: no wait can help
	Limit     int64 // capacity in tokens
	Remaining int64 // whole tokens left after this decision
	// RetryAfter is the least wait after which the same request would have been allowed by this limit, if nobody else
	// spends meanwhile; 0 when it was allowed or can never be.
	RetryAfter time.Duration
	// ResetAfter is how long until the bucket is full again, if nobody spends meanwhile.
	ResetAfter time.Duration
}

// OwnerID names one life of an owner: 128 random bits drawn when its process starts.
type OwnerID [16]byte

// String is the name in hexadecimal, the form in which receipts carry it.
func (o OwnerID) String() string { return hex.EncodeToString(o[:]) }

// MarshalText and UnmarshalText use the form of [OwnerID.String].
func (o OwnerID) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads 32 hexadecimal digits.
func (o *OwnerID) UnmarshalText(text []byte) error {
	id, err := hex.DecodeString(string(text))
	if err != nil || len(id) != len(o) {
		return &FieldError{Field: "owner", Problem: fmt.Sprintf("%s is not 32 hexadecimal digits", Quote(string(text)))}
	}
	*o = OwnerID(id)
	return nil
}

// A Span is a piece of a bucket's line from Start (excluded) to End (included), in nanoseconds since the Unix epoch.
// The line's positions are finer than a nanosecond; both ends are rounded down, so spans that are disjoint on the line
// are disjoint as Spans, and a Span's length is exact to within a nanosecond.
type Span struct {
	Start int64 `json:"start_ns,string"`
	End   int64 `json:"end_ns,string"`
}

// A Receipt proves an admission: it is the piece of the bucket's line that the admission consumed. Over all receipts
// of a bucket and generation, from all owners that ever lived, spans never overlap, as long as the limit's numbers stay
// the same (after its capacity was lowered and a majority has forgotten its registers, some may); and the length of a
// receipt's span plus that of its reuses is the cost times the time per token.
type Receipt struct {
	Limit      string `json:"limit"`
	Generation int64  `json:"generation,string"` // goes up when the bucket is reset
	Span
	Owner  OwnerID `json:"owner"`
	Serial uint64  `json:"serial,string"`    // with the span, tells this receipt from the owner's others of this bucket; it cannot be guessed
	Reuses []Span  `json:"reuses,omitempty"` // returned pieces of line that this admission spends again
}

// An Inspection is the state of one bucket at one moment, as its owner sees it.
type Inspection struct {
	Key  string
	Rule *Rule
	Now  int64 // the node clock when it was looked at, nanoseconds since the Unix epoch
	// Partition is where the key lives, and Epoch the number of that partition's replica set.
	Partition int
	Epoch     uint64
	// Owner is the owner that answers, and Node the name of its node.
	Owner OwnerID
	Node  string
	// Awake says whether an actor holds the bucket in memory. If not, what it knows below is read from the registers.
	Awake      bool
	Generation int64
	TAT        int64    // the position up to which the line is spent, rounded up; before Now: the bucket is full
	Tokens     int64    // whole tokens that could be spent now
	Segment    Span     // reserved and not yet spent by this owner; empty if Start = End
	Next       Span     // a further segment, held in reserve; empty if Start = End
	Credit     int64    // returned line that can be spent again, in nanoseconds
	Waiting    int      // checks that wait in the actor's mailbox
	Registers  []Stored // each replica's register
	Recent     []Recent // the actor's last decisions on this bucket, the newest last
}

// Stored is a replica's register of a bucket as an Inspection shows it.
type Stored struct {
	Node       string
	Error      string // why the register could not be read; then nothing below is known. Empty: it was read
	Epoch      uint64 // in which the replica keeps the key's partition
	Sealed     bool   // the replica accepts nothing more in its epoch: the replica set is changing
	Exists     bool   // false: the replica has no register, the bucket is full as far as it knows
	Generation int64
	Reserved   int64 // how far the line is reserved, nanoseconds since the Unix epoch
	Floor      int64 // the replica's floor, or 0: before it every bucket counts as empty
	Horizon    int64 // registers that ended before it have been swept
}

// Recent is a decision that an actor remembers.
type Recent struct {
	At      int64 // nanoseconds since the Unix epoch
	Cost    int64
	Allowed bool // it was admitted and charged; otherwise this limit or another one of the same check denied it
}
