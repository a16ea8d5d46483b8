package actor

import (
	"fmt"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errStopping answers what is asked of a System that has been closed.
var errStopping = fmt.Errorf("%w: the node is stopping", limit.ErrUnavailable)

// errFullInbox answers checks that a shard has no room for.
var errFullInbox = fmt.Errorf("%w: this node has more checks than it can look at", limit.ErrOverloaded)

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
	narrow  int   // rounds for which lanes have the smaller window
	answers []answered
	due     bool // somebody waits for one of the answers
	bound   int
	closed  bool
	wake    chan struct{} // holds one token when the shard's goroutine is to look
	unused  *lane         // to be used again

	answered []*window // of who runs a round: see window
	rejected func(n int)
}

// push hands in mail of one caller, in order. What has no place is answered at once. It says whether there was no other mail
// that could be taken, so that it is for the caller to have it looked at: see shard.push.
func (b *inbox) push(ms ...*mail) (first bool) {
	caller := ms[0].bundle.caller
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
		if l, b.unused = b.unused, nil; l == nil {
			l = &lane{window: window{toReopen: &b.answered}}
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

// pushAnswers hands in what a replica has answered, and says whether somebody waits for that.
func (b *inbox) pushAnswers(a answered) bool {
	accepted := a.sent.accepts(a.answers, a.err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, a)
	if a.sent.arrives(accepted) {
		b.due = true
		return true
	}
	return false
}

// waits says whether there is anything that should be taken.
func (b *inbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready > 0 || b.due || b.closed
}

// unanswered is how many mails have come and are not answered. It is of who runs a round.
func (b *inbox) unanswered() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes {
		n += l.open + l.len()
	}
	return n
}

// take returns mail that has arrived, at most maxRound of it, in exchange for the slice of the last time. It says whether
// the inbox is closed.
func (b *inbox) take(mail []*mail) ([]*mail, bool) {
	clear(mail)
	mail = mail[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.narrow = max(0, b.narrow-1)
	if !b.fresh.empty() && b.fresh.first.len() <= maxTurn && len(b.lanes) > 1 {
		b.narrow = narrowFor
	}
	for b.ready > 0 && len(mail) < maxRound {
		l := b.nextLane(len(mail))
		most := l.bound(b.narrow > 0)
		n := max(0, min(maxTurn, maxRound-len(mail), l.len(), most-l.open))
		mail = l.pop(mail, n)
		b.mail -= n
		b.ready -= n
		switch {
		case l.len() == 0:
		case l.open < most:
			b.old.push(l)
		default:
			l.full, l.max = true, most
			b.ready -= l.len()
		}
	}
	return mail, b.closed
}

// nextLane is the lane whose turn it is when so many mails were taken in this round.
func (b *inbox) nextLane(taken int) *lane {
	if b.old.empty() || taken < maxRound/2 && !b.fresh.empty() {
		return b.fresh.pop()
	}
	return b.old.pop()
}

// reopen lets lanes go on in whose windows answers have made room, and forgets those that hold no mail any more. The caller runs
// a round.
func (b *inbox) reopen() {
	if len(b.answered) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed { // drain answers what the lanes have
		return
	}
	for _, w := range b.answered {
		l := b.lanes[w.caller]
		if l == nil || &l.window != w { // forgotten already
			continue
		}
		if l.full && l.open <= l.max/2 {
			l.full = false
			if n := l.len(); n > 0 {
				b.ready += n
				b.old.push(l)
			}
		}
		if l.len() == 0 && l.open == 0 {
			delete(b.lanes, l.caller)
			b.unused = l
		}
	}
	clear(b.answered)
	b.answered = b.answered[:0]
}

// drain answers all mail that no round has taken with err, when the inbox is closed.
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
	answers, b.answers, b.due = b.answers, answers[:0], false
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
