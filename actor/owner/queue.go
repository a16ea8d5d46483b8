package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A waiter is a check, or a reset if reset is not nil, that could not be done at once.
type waiter struct {
	Check
	reset    *limit.Rule
	resetSeq uint64 // of the reservation that writes the reset; 0 before the first try
}

// A queue holds what waits, first come, first served. At rest it owns no memory.
type queue struct {
	items []waiter
	done  int   // items before this index have left
	soon  int64 // no deadline is earlier; 0 when nobody waits
}

func (q *queue) len() int { return len(q.items) - q.done }

func (q *queue) first() *waiter { return &q.items[q.done] }

func (q *queue) push(w waiter) {
	if q.len() == 0 || w.Deadline < q.soon {
		q.soon = w.Deadline
	}
	q.items = append(q.items, w)
}

func (q *queue) pop() {
	q.items[q.done] = waiter{}
	q.done++
	switch {
	case q.done == len(q.items):
		*q = queue{}
	case q.done >= len(q.items)/2 && q.done >= 64:
		rest := copy(q.items, q.items[q.done:])
		clear(q.items[rest:])
		q.items, q.done = q.items[:rest], 0
	}
}

// earliest is a time before which no deadline passes; math.MaxInt64 when nobody waits.
func (q *queue) earliest() int64 {
	if q.len() == 0 {
		return math.MaxInt64
	}
	return q.soon
}

// expire takes out those whose deadline has passed.
func (q *queue) expire(now int64) (expired []waiter) {
	if now < q.earliest() {
		return nil
	}
	old := *q
	*q = queue{}
	for _, w := range old.items[old.done:] {
		if w.Deadline <= now {
			expired = append(expired, w)
		} else {
			q.push(w)
		}
	}
	return expired
}
