package owner

import (
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A waiter is a check that could not be decided at once; or a reset, permits that are to be taken out, or a settlement.
type waiter struct {
	Check
	reset    *limit.Rule // nil for no reset
	resetSeq uint64      // of the reservation that writes the reset; 0 before the first try
	permits  []Permit    // nil for none
	settles  []Settle    // nil for none
}

// checks says whether w is a check.
func (w *waiter) checks() bool { return w.reset == nil && w.permits == nil && w.settles == nil }

// concerns says whether w waits for b.
func (w *waiter) concerns(b *bucket) bool {
	return w.reset != nil && w.reset.Name == b.rule.Name ||
		slices.ContainsFunc(w.permits, func(p Permit) bool { return p.Rule.Name == b.rule.Name }) ||
		slices.ContainsFunc(w.settles, func(s Settle) bool { return s.Rule.Name == b.rule.Name }) ||
		slices.ContainsFunc(w.Rules, func(r *limit.Rule) bool { return r.Name == b.rule.Name })
}

// An overflow is what an owner has beyond its first bucket: the buckets of further limits, and the checks that wait.
type overflow struct {
	queue
	buckets []*bucket
	tidyAt  int    // how many buckets there are when tidy looks again
	didSeq  uint64 // of the last reset that a majority accepted while a check waited
}

// A queue holds what waits, first come, first served.
type queue struct {
	items []waiter
	done  int   // items before this index have left
	soon  int64 // no deadline is earlier; 0 when the queue is empty
	mixed bool  // a waiter may have an earlier deadline than one before it; false means that none has
}

func (q *queue) len() int { return len(q.items) - q.done }

func (q *queue) waiting() []waiter { return q.items[q.done:] }

func (q *queue) first() *waiter { return &q.items[q.done] }

func (q *queue) push(w waiter) {
	if q.len() == 0 || w.Deadline < q.soon {
		q.soon = w.Deadline
	}
	if q.len() > 0 && w.Deadline < q.items[len(q.items)-1].Deadline {
		q.mixed = true
	}
	q.items = append(q.items, w)
}

func (q *queue) pop() {
	q.items[q.done] = waiter{}
	q.done++
	switch {
	case q.done == len(q.items):
		*q = q.emptied()
	case q.done >= len(q.items)/2 && q.done >= 64:
		rest := copy(q.items, q.items[q.done:])
		clear(q.items[rest:])
		q.items, q.done = q.items[:rest], 0
	}
}

// maxRoom is how many may have waited at once in a queue whose room is kept.
const maxRoom = 4

// emptied is an empty queue in the room of q, whose waiters have left, unless there is much of it.
func (q *queue) emptied() queue {
	if cap(q.items) > maxRoom {
		return queue{}
	}
	return queue{items: q.items[:0]}
}

// earliest is a time before which no deadline passes; math.MaxInt64 when the queue is empty.
func (q *queue) earliest() int64 {
	if q.len() == 0 {
		return math.MaxInt64
	}
	return q.soon
}

// expire removes those whose deadline has passed, and calls late with each. As long as deadlines have come in their order, which
// they do when all callers wait equally long, it looks at no others.
func (q *queue) expire(now int64, late func(*waiter)) {
	switch {
	case now < q.earliest():
		return
	case q.mixed:
		q.sift(now, late)
		return
	}
	for q.len() > 0 && q.first().Deadline <= now {
		late(q.first())
		q.pop()
	}
	if q.len() > 0 {
		q.soon = q.first().Deadline
	}
}

// sift is expire for deadlines in no order.
func (q *queue) sift(now int64, late func(*waiter)) {
	old := *q
	*q = queue{}
	for i := range old.waiting() {
		if w := &old.waiting()[i]; w.Deadline <= now {
			late(w)
		} else {
			q.push(*w)
		}
	}
}
