package actor

import (
	"fmt"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// errFullInbox answers checks that a shard has no room for.
var errFullInbox = fmt.Errorf("%w: this node has more checks than it can look at", limit.ErrOverloaded)

// answered is what a replica said to the reservations that a shard had sent to it.
type answered struct {
	replica int
	sent    *sending
	answers []register.Answer
	err     error
}

// An inbox is where everything arrives that a shard has to do. Checks are bounded; answers need no bound, because an
// actor has at most one reservation in flight for each bucket.
//
// Callers take turns. One that has had nothing here, as those have who ask now and then, comes before those whose mail
// has been here for long, but leaves them half of each round.
type inbox struct {
	mu      sync.Mutex
	lanes   map[limit.Caller]*lane
	fresh   turns // lanes that nothing was taken of since they were empty
	old     turns // the others that have mail and are not full
	mail    int   // in all lanes
	ready   int   // of that in lanes that are not full
	polite  int   // rounds for which lanes have the smaller window
	answers []answered
	bound   int
	closed  bool
	wake    chan struct{} // holds one token when the shard's goroutine is to look
	spare   *lane         // to be used again

	eased    []*lane // of who runs a round: see lane
	rejected func(n int)
}

// push hands in mail of one caller, in order. What has no place is answered at once. It says whether there was no other mail
// that could be taken, so that it is for the caller to have it looked at: see [shard.attend].
func (b *inbox) push(ms ...*mail) (first bool) {
	caller := ms[0].call.caller
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		for _, m := range ms {
			m.fail(errStopping)
		}
		return false
	}
	l := b.laneOf(caller)
	room := min(b.room(l), len(ms))
	empty := l.len() == 0
	l.push(ms[:room])
	b.mail += room
	if room > 0 && !l.full {
		first = b.ready == 0
		b.ready += room
		if empty {
			b.fresh.push(l)
		}
	}
	b.mu.Unlock()
	if room < len(ms) {
		b.rejected(len(ms) - room)
		for _, m := range ms[room:] {
			m.fail(errFullInbox)
		}
	}
	return first
}

// laneOf is the caller's lane.
func (b *inbox) laneOf(caller limit.Caller) *lane {
	l := b.lanes[caller]
	if l == nil {
		if l, b.spare = b.spare, nil; l == nil {
			l = &lane{eased: &b.eased}
		}
		l.caller = caller
		b.lanes[caller] = l
	}
	return l
}

// room is how many mails there is room for in a lane. No caller takes more than what would be left to the others.
func (b *inbox) room(l *lane) int {
	left := b.bound - b.mail
	if l.caller == nil {
		return left
	}
	return max(0, (left-l.len()+1)/2)
}

func (b *inbox) pushAnswers(a answered) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, a)
}

// waits says whether there is anything that could be taken.
func (b *inbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready > 0 || len(b.answers) > 0 || b.closed
}

// take returns mail that has arrived, at most maxRound of it, in exchange for the slice of the last time. It says whether
// the inbox is closed.
func (b *inbox) take(mail []*mail) ([]*mail, bool) {
	clear(mail)
	mail = mail[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.polite = max(0, b.polite-1)
	if !b.fresh.empty() && b.fresh.first.len() <= turn && len(b.lanes) > 1 {
		b.polite = politeFor
	}
	for b.ready > 0 && len(mail) < maxRound {
		l := b.turn(len(mail))
		most := l.window(b.polite > 0)
		n := max(0, min(turn, maxRound-len(mail), l.len(), most-l.open))
		mail = l.pop(mail, n)
		b.mail -= n
		b.ready -= n
		switch {
		case l.len() == 0:
		case l.open < most:
			b.old.push(l)
		default:
			l.full, l.most = true, most
			b.ready -= l.len()
		}
	}
	return mail, b.closed
}

// turn is the lane whose turn it is when so many were taken in this round.
func (b *inbox) turn(taken int) *lane {
	if b.old.empty() || taken < maxRound/2 && !b.fresh.empty() {
		return b.fresh.pop()
	}
	return b.old.pop()
}

// ease lets lanes go on in whose windows answers have made room, and forgets those that have nothing here any more. It is
// for who runs a round.
func (b *inbox) ease() {
	if len(b.eased) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed { // what the lanes have is answered by whoever drains them
		return
	}
	for _, l := range b.eased {
		if l.full && l.open <= l.most/2 {
			l.full = false
			if n := l.len(); n > 0 {
				b.ready += n
				b.old.push(l)
			}
		}
		if l.len() == 0 && l.open == 0 && b.lanes[l.caller] == l {
			delete(b.lanes, l.caller)
			b.spare = l
		}
	}
	clear(b.eased)
	b.eased = b.eased[:0]
}

// drain answers all mail that nobody has taken with err, when the inbox is closed.
func (b *inbox) drain(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes {
		for _, m := range l.mail[l.done:] {
			m.fail(err)
		}
	}
	b.lanes, b.fresh, b.old, b.mail, b.ready = nil, turns{}, turns{}, 0, 0
}

// takeAnswers returns all answers that have arrived, in exchange for the slice of the last time.
func (b *inbox) takeAnswers(answers []answered) []answered {
	clear(answers)
	b.mu.Lock()
	defer b.mu.Unlock()
	answers, b.answers = b.answers, answers[:0]
	return answers
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.notify()
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mail
}

// notify wakes the shard's goroutine.
func (b *inbox) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
