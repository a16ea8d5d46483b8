package limit

import "time"

// An algorithm is either a [line] or [counting]. It is a value that can be compared with ==: equal algorithms decide alike.
type algorithm interface {
	// Fill is the longest time until an empty bucket is full again.
	Fill() time.Duration
	// Window is the time over which a client can spread the tokens that remain; when none remains, the time until the next one.
	// ResetAfter is the time until the bucket is full.
	Window(remaining int64, resetAfter time.Duration) time.Duration
	// Part is the n-th part of l, for one of n gateways that decide without the cluster: all parts together admit
	// no more than the limit, unless a part would be less than one token. ok is false if there is no such part.
	Part(l Limit, n int) (part Limit, ok bool)
	// Envelope is what l admits at most in any window of time.
	Envelope(l Limit) Envelope
}

// A line says how a bucket's line, which is its time axis, may be spent: a check of cost c consumes a span of c tokens'
// length, which begins at Begin(t) or later, where the spans before it end, and ends at Bound(t) or before. Owners, replicas and
// gateways use nothing else of an algorithm, so they are safe for every algorithm for which
//
//	t ≤ Begin(t) ≤ Bound(t) ≤ t + the rule's reach
//
// and for which Begin and Bound never decrease as t increases. Line before Begin cannot be spent any more, and may be forgotten.
type line interface {
	algorithm
	// Begin is the start of the line that a check at t may spend.
	Begin(t int64) int64
	// Bound is the end of the line that a check at t may spend. It lies before the end of the range of positions, where [Rule.Add] stops.
	Bound(t int64) Pos
	// Affordable is the first t at which a span that ends at end can be spent: for which Bound(t) is not before end.
	Affordable(end Pos) Pos
}

// An Envelope bounds what a limit admits: in any window of time at most Burst tokens, and those that Refill brings in that time.
type Envelope struct {
	Burst  int64
	Refill Refill
}

// A counting algorithm admits while what counts of earlier admissions leaves room. What it admitted stands as entries in a [Ledger]
// of the bucket; the algorithm says what an entry stands for, and how long. A counting algorithm is a value that can be compared
// with ==: equal ones decide alike.
type counting interface {
	algorithm
	// Slot is the entry to which an admission at t belongs: that of the admissions from at to before until.
	Slot(t int64) (at, until int64)
	// Ends is from when on the entry made at that time counts no more.
	Ends(at int64) int64
	// Lasts is the longest time for which an entry counts.
	Lasts() int64
	// Counted is how much of the amount of the entry made at that time counts at t, which is before its end.
	Counted(at, amount, t int64) int64
	// Steps says that an entry counts in full until its end.
	Steps() bool
	// Permits says that every admission is an entry of its own, with an id, that can be taken out again.
	Permits() bool
}
