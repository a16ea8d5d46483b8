package owner

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Out collects what a step wants done. It is reused from step to step; the caller empties it. What owners need for a
// moment only is kept here between their steps: a caller who runs many owners has one Out for all of them.
type Out struct {
	Replies []Reply
	Sends   []Send
	// Expired is the limit of each hold of a line that has expired, once per hold: when its owner frees it, or a settlement comes later.
	// Of one that is charged when it expires, and is never settled, nothing is told.
	Expired []*limit.Rule

	trials   []trial      // scratch
	ledger   limit.Ledger // scratch: what is to be stored
	reusable reusable
}

// Reset empties o for the next steps.
func (o *Out) Reset() {
	clear(o.Replies)
	o.Replies, o.Sends, o.Expired = o.Replies[:0], o.Sends[:0], o.Expired[:0]
}

// late answers one whose deadline has passed.
func (o *Out) late(w *waiter) {
	o.Replies = append(o.Replies, Reply{Tag: w.Tag, Err: context.DeadlineExceeded})
}

// A trial is what one bucket says to a check.
type trial struct {
	bucket *bucket
	length limit.Pos
	at     int64 // when it would begin: the check's time, or later if it waits
	waits  int64 // at if it waits; 0 if not
	reach  int64 // of the rule by which it is spent, where that may be another one than the bucket's
	result
}

// What a bucket says to a check.
type ruling uint8

const (
	admit ruling = iota + 1
	deny
	wait  // for the line up to need
	stay  // until the reservation in flight has come to an end
	enter // the next segment, and ask again
)

type result struct {
	verdict ruling
	end     limit.Pos // where the check would end the spent line; a denial is explained by it
	need    limit.Pos // how far the line must be reserved, if it has to wait
	from    int64     // from where
	again   int64     // after how long a denied check may come back, in nanoseconds; 0: when its end can be spent
}
