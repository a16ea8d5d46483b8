package actor

import (
	"time"
)

// visitSlack is how late a visit may be, so that the shard's goroutine makes many at a time, in nanoseconds.
const visitSlack = int64(20e6)

// paces is how many queues of visits there are. The slowest one comes round every 32 IdleAfter.
const paces = 6

// visits are a shard's actors in the order in which they are to be visited, in a queue for each time between two visits:
// [Config.IdleAfter], and twice that, and so on. It goes to the end of the slowest queue in which it can wait, for a million
// actors that only remember a receipt each are not to be looked at every second. That is cheaper than an alarm for each, and
// early enough to see whether an actor can be forgotten.
type visits struct {
	queues [paces]visitQueue
	turn   int  // the queue whose turn it was last
	rotate bool // and it was not that of the longest one
}

// paceOf is that of an actor for which nothing is to be done before so much time has passed.
func paceOf(wait int64, idleAfter time.Duration) (pace int) {
	for pace+1 < paces && wait >= int64(idleAfter)<<(pace+1) {
		pace++
	}
	return pace
}

// next is the actor whose visit is due first, and its pace; or nil.
func (v *visits) next() (next *actor, pace int) {
	for i := range v.queues {
		if a := v.queues[i].next(); a != nil && (next == nil || a.visit < next.visit) {
			next, pace = a, i
		}
	}
	return next, pace
}

// inTurn is the next actor, due or not, of the longest queue and then of another, one after the other, and its pace; or nil.
// So most are seen soon, and all are seen at some time.
func (v *visits) inTurn() (a *actor, pace int) {
	if v.rotate = !v.rotate; v.rotate {
		for range paces {
			v.turn = (v.turn + 1) % paces
			if a := v.queues[v.turn].next(); a != nil {
				return a, v.turn
			}
		}
	}
	for i := range v.queues {
		if v.queues[i].len() > v.queues[pace].len() {
			pace = i
		}
	}
	return v.queues[pace].next(), pace
}

// A queue of actors stands in pieces: copying a million of them as the queue grows would delay the callers that wait for
// the shard.
type visitQueue struct {
	pieces [][]*actor
	done   int // places of the first piece before this one are empty
}

// queuePiece is how many actors are in each piece but the last.
const queuePiece = 1024

// len is about how many there are: whole pieces, and one more if there is any.
func (q *visitQueue) len() int { return len(q.pieces) }

func (q *visitQueue) next() *actor {
	if len(q.pieces) == 0 {
		return nil
	}
	return q.pieces[0][q.done]
}

func (q *visitQueue) add(a *actor) {
	switch last := len(q.pieces) - 1; {
	case last < 0:
		q.pieces = append(q.pieces, nil)
	case len(q.pieces[last]) == queuePiece:
		q.pieces = append(q.pieces, make([]*actor, 0, queuePiece))
	}
	last := &q.pieces[len(q.pieces)-1]
	*last = append(*last, a)
}

// pop takes the next one out.
func (q *visitQueue) pop() {
	first := q.pieces[0]
	first[q.done] = nil
	if q.done++; q.done == len(first) {
		q.pieces[0] = nil
		q.pieces, q.done = q.pieces[1:], 0
	}
}
