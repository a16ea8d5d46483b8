// Package limit is the vocabulary of jeton and its pure arithmetic: what a limit is, what a check asks, what a
// decision answers, and how each algorithm counts. It has no clock, no goroutine and no I/O; time is always an
// argument. Every other package uses its types.
//
// Start with [Checker], the one interface that every layer of jeton implements, and [Rule], a limit made ready to
// decide.
package limit

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"time"
)

// Policy says what a gateway does with a request when the cluster gives no decision.
type Policy string

// The policies. The zero value of a Limit's policy means Allow.
const (
	Allow Policy = "allow" // let it through
	Deny  Policy = "deny"  // refuse it
	Local Policy = "local" // decide by a bucket of the gateway's own
)

// Consistency says who decides checks of a limit: the owner of the key, or an edge, which is a gateway or a program with a client.
type Consistency string

// The consistencies. The zero value of a Limit's means Strong.
const (
	Strong Consistency = "strong" // the owner decides every check
	Leased Consistency = "leased" // an edge takes line ahead, and spends it by itself
	// Eventual: an edge decides by what it has last heard, and tells the owner afterwards.
	Eventual Consistency = "eventual"
	// OfEdge: each edge has a bucket of its own, of the whole limit or of its share. Documents call it "local".
	OfEdge Consistency = "local"
)

// Share says how much of a limit the bucket of each edge is.
type Share string

// The shares.
const (
	PerEdge Share = "per-edge" // all of it
	Divided Share = "divided"  // as much as there are edges: see the configuration of each
)

// Hot says what becomes of a bucket whose key is hot: one that has a large part of the checks of its node.
type Hot string

// LeaseHot has edges decide about such buckets as those of Leased limits, for as long as the key is hot.
const LeaseHot Hot = "lease"

// A Limit is a named rule as people write it. [Limit.Rule] checks it and makes it ready to decide. Which of its fields it has depends
// on the algorithm ([Fields]); the others are empty.
type Limit struct {
	// Name is 1 to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit.
	Name string
	// Algorithm is one of [Algorithms]; empty means "token-bucket".
	Algorithm string
	// Capacity is how many tokens a full bucket holds, at least 1. Where the algorithm is one of windows it is the limit of each
	// window, and documents and JSON call it "limit".
	Capacity int64
	// Refill is how fast the tokens of a token bucket come back.
	Refill Refill
	// Window is how long the windows of a fixed window last. They are aligned to the Unix epoch. From 1 ms to 36 years. Instead of it, Per
	// may be "day", "week", "month" or "year".
	Window time.Duration
	Per    string
	// Timezone and Anchor say where the windows of Per begin: the name of an IANA time zone, empty means UTC; and the hour of the day, the
	// name of the day of the week, the day of the month, or a date of the year such as "04-06". Empty means the first.
	Timezone string
	Anchor   string
	// Weighted makes a sliding window the estimate from two windows that others call by that name, with a wider bound.
	Weighted bool
	// Lease is how long a permit of a concurrency limit lasts unless it is extended or returned. From 1 s to 24 h.
	Lease time.Duration
	// MaxWait is the longest wait that a check may ask for: see Request.Wait. Only limits that spend a line have one. From 0 to
	// [LongestWait], in whole milliseconds.
	MaxWait time.Duration
	// Holds says whether the limit takes holds, and how.
	Holds Holds
	// Penalty closes the buckets of who goes on after denials. A limit that a request defines has none.
	Penalty Penalty
	// Reserve is how much of a bucket its owner may take beyond what checks need, and so what its crash may cost. Not of a sliding log, nor
	// of permits.
	Reserve Reserve
	// Consistency says who decides its checks; empty means Strong.
	Consistency Consistency
	// Sync is how often an edge tells the owner, if the consistency is Eventual: from 100 ms to 5 s, in whole milliseconds; 0 means 1 s.
	Sync time.Duration
	// Share says how much of the limit the bucket of each edge is, if the consistency is OfEdge; empty means PerEdge.
	Share Share
	// Hot says what becomes of buckets whose key is hot, if the consistency is Strong; empty means nothing.
	Hot Hot
	// Gauges is of how many keys each node shows how full their buckets are, as metrics: of those with most checks. From 0 to [MostGauges].
	Gauges int
	// OnUnavailable is what gateways do when the cluster gives no decision; empty means Allow.
	OnUnavailable Policy
}

// A Ref refers to a limit: to a stored one by its name, or to one that the request defines.
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
	// Plan, if not empty, is the name of a plan: the limits that have it go by its numbers. See [Document.CheckPlan].
	Plan string
	// Look asks what the limits have left and takes nothing. It has no Cost.
	Look bool
	// ID, if not empty, makes a repeated request get the answer of the first one, for 31 seconds, as long as the owner that gave it
	// lives and still remembers it. At most 128 bytes of UTF-8.
	ID string
	// Receipt asks for receipts, the proof of the admission and the means to return it.
	Receipt bool
	// Wait is how long the caller may wait for tokens: a check that would be denied now is admitted if it would be admitted at a time
	// that is not later than that, and the Decision says how long to wait. At most the MaxWait of every limit of r.
	Wait time.Duration
	// Extend, if not 0, is the Serial of a receipt of the one limit of r, which has permits: the permit lasts its lease from now on,
	// in place of a new one, and the answer has its receipt. A permit that has ended is denied.
	Extend uint64
	// Hold, if not 0, makes the check a hold of its cost for so long, until a [Settlement] says what was used: at most as long as every
	// limit of r allows. At least 1 s. The answer has a [Hold].
	Hold time.Duration
	// Least, if not 0, is how few tokens a hold or a lease may take: where the cost is not left, it takes what is. From 1 to the cost.
	Least int64
	// Lease, if not nil, asks for the cost as line that the caller, an edge, spends by itself: as much of it as the owner passes down, at least one
	// token. The one limit of r is stored, and its Consistency is [Leased].
	Lease *LeaseAsk
	// Charge says that the cost was spent already, by the caller, an edge. It is charged as far as the limit's debt allows, one capacity or what refills in a minute, whatever is left; the
	// answer says what is. The one limit of r is stored, and its Consistency is [Eventual]. With Look, nothing was spent.
	Charge bool
	// Report, if not nil, says more about a Charge.
	Report *Report
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
	Allowed bool // every limit allowed it
	// Wait is how long the caller must wait before it begins, counted from when its check was decided: the tokens are taken, and not
	// there yet. 0 unless the request's Wait allows more.
	Wait     time.Duration
	Limits   []Outcome // one for each limit of the request, in its order
	Receipts []Receipt // one for each limit that an override does not let pass uncounted, if the request asked for them, was allowed, and cost more than 0
	Hold     *Hold     // what a hold has taken; nil for other checks, and for a denial
	Lease    *Lease    // what a request for a lease has got; likewise
	Reported *Reported // what a Report is answered; nil for other requests
	// Node is the address of the node that answered; empty when the Checker decided by itself. The client sets it; it is not
	// part of any encoding of a Decision.
	Node string
}

// An Outcome is the decision of one limit of a request.
type Outcome struct {
	Name string
	// Plan is the plan by whose numbers it was decided, and Override the override, in words: at most one of them; both are empty if it
	// was by those of the limit.
	Plan, Override string

	Allowed   bool  // this limit alone would have allowed it
	Never     bool  // the cost is above the capacity, or the permit has ended: no wait can help
	Ended     bool  // the permit that was to be extended has ended or was returned, and only a new check can enter; Never is set too
	Closed    bool  // a penalty has closed the bucket for a time, whatever it holds: see [Penalty]
	Limit     int64 // capacity in tokens
	Remaining int64 // whole tokens left after this decision
	Leased    int64 // tokens that edges hold at most, as far as the owner knows: see [Lease]. They are not among those that remain
	// RetryAfter is the shortest time after which this limit would allow the same request, with the same Wait, if no other request
	// spends meanwhile; 0 when it was allowed or can never be.
	RetryAfter time.Duration
	// ResetAfter is how long until the bucket is full again, if no request spends meanwhile.
	ResetAfter time.Duration
}

// OwnerID identifies one process of an owner: 128 random bits, drawn when the process starts.
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
	// Permit says that it is a permit of a concurrency limit: its span is its lease, and any owner takes it back. Other receipts are
	// taken back by the owner that made them.
	Permit bool `json:"permit,omitempty"`
	// From, if not 0, gives back only the line behind it: it is the receipt of a [Lease], of which the rest is spent.
	From int64 `json:"from_ns,string,omitempty"`
}

// A Lease is line of one bucket that its owner has passed down to an edge, which spends it by itself: each piece from where it has got
// to, or from its now if that is later, up to the end of the lease, and no further ahead than any check may. What it has not spent
// expires as time passes it, so a lease needs no end by anybody.
type Lease struct {
	Receipt // its span is the line. It is fresh, and whole nanoseconds
	// Until is when the edge may spend it no more, in nanoseconds since the Unix epoch.
	Until int64
	// Now is the owner's clock when it was decided, likewise.
	Now int64
}

// Tail is the receipt of l for giving back what lies behind from.
func (l *Lease) Tail(from int64) Receipt {
	r := l.Receipt
	r.From = from
	return r
}

// A LeaseAsk is what an edge says when it asks for a lease.
type LeaseAsk struct {
	// Life is for how long the line is to last at least, where the bucket reaches as far. From 1 ms to [LongestLease].
	Life time.Duration
	// After, if not 0, is how long after the owner's clock the line begins at the earliest. It is for a holder that knows no positions: whatever it spends by then, in
	// any order, is line that lies ahead of it. Nothing is spent later. From 0 to [LongestLease].
	After time.Duration
	// Now is the edge's clock when it asks, in nanoseconds since the Unix epoch.
	Now int64
	// Terms are those of the rule by which the edge spends: see [Rule.LeaseTerms]. An owner that goes by others gives no lease.
	Terms uint64
	// Held is how many tokens of the bucket the edge has still, for people to see.
	Held int64
	// Edge is a name of the edge, likewise; it may be empty. ID tells it from others of that name: a random number.
	Edge string
	ID   uint64
}

// A Hold is what a check has taken for a time. Its text, [Hold.String], carries what is needed to settle it at any node.
type Hold struct {
	Key     string
	Plan    string // by whose numbers it was taken; empty for none
	Granted int64  // tokens, of each of the limits
	// Limits are those that hold tokens: of a limit that an override lets pass uncounted there is nothing to settle.
	Limits []Held
}

// Held is what one limit holds.
type Held struct {
	Limit      string
	Inline     *Limit // the limit, if the request has defined it; nil for a stored one
	Generation int64
	Owner      OwnerID // that took it
	ID         uint64  // cannot be guessed, so only who was given the hold can settle it
}

// Ref refers to the limit that holds, by which the hold is settled.
func (h *Held) Ref() Ref {
	if h.Inline != nil {
		return Inline(*h.Inline)
	}
	return Named(h.Limit)
}

// The bounds of one request.
const (
	MaxKey    = 512  // bytes of a key
	MaxName   = 64   // bytes of a limit's name
	MaxID     = 128  // bytes of a request's ID
	MaxLimits = 16   // limits of one request
	MaxBatch  = 1000 // requests of one batch
	MaxReturn = 1000 // receipts that are returned at once

	LongestWait = 30 * time.Second // of a check, as long as its longest deadline

	MaxEdge = 64 // bytes of the name of an edge
)

// LongestLease is the most that a lease may last, in nanoseconds: so long after a reset, or a change of the limit, edges may spend line of before.
const LongestLease = int64(10e9)

func validateName(name string) error {
	if name == "" {
		return &FieldError{Field: "name", Problem: "is empty: name the limit, such as login"}
	}
	if len(name) > MaxName {
		return &FieldError{Field: "name", Problem: fmt.Sprintf("%d bytes are too many: at most %d", len(name), MaxName)}
	}
	for i := range len(name) {
		c := name[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '-' && c != '_') {
			return &FieldError{
				Field:   "name",
				Problem: fmt.Sprintf("%s is not a valid name: use letters, digits, dots, dashes and underscores, and start with a letter or digit", Quote(name)),
			}
		}
	}
	return nil
}
