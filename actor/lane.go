package actor

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// maxRound is how many mails a round takes: what arrives waits for no more than that, and for its turn.
	maxRound = 128
	// turn is how many mails of one caller are taken before it is another caller's turn.
	turn = lookAhead
	// window is how many checks of one caller may wait for their reservations in a shard: as many as keep it at work, while
	// callers come with more than it can do.
	window = 256
	// politeWindow is that while callers come too who ask for a little now and then: their checks wait behind all these for the
	// same fsync, so it bounds what one caller can add to that.
	politeWindow = 64
	// politeFor is for how many rounds after one of those has come the others are polite.
	politeFor = 1024
)

// A lane is what one caller has handed to a shard: its mail that nobody has taken, and the number of those that were taken
// and are not answered.
type lane struct {
	caller limit.Caller
	eased  *[]*lane // where the shard finds lanes that answers have made room in
	next   *lane    // in turns

	// Guarded by the inbox's lock. Full is only changed by who runs a round, so that it may read it without.
	mail []*mail
	done int  // places of mail before this one are empty
	full bool // its window is taken: it has to wait until half of it is answered
	most int  // the window then

	open int // of who runs a round: taken and not answered
}

func (l *lane) len() int { return len(l.mail) - l.done }

// window is how many mails may be taken and not answered.
func (l *lane) window(polite bool) int {
	switch {
	case l.caller == nil: // who embeds a node has no need to be protected from itself
		return math.MaxInt
	case polite:
		return politeWindow
	}
	return window
}

func (l *lane) push(ms []*mail) { l.mail = append(l.mail, ms...) }

// pop moves the first n mails to the end of to.
func (l *lane) pop(to []*mail, n int) []*mail {
	some := l.mail[l.done : l.done+n]
	for _, m := range some {
		m.lane = l
	}
	to = append(to, some...)
	clear(some)
	l.done += n
	l.open += n
	switch {
	case l.done < len(l.mail):
	case cap(l.mail) > 4*maxRound: // of a flood
		l.mail, l.done = nil, 0
	default:
		l.mail, l.done = l.mail[:0], 0
	}
	return to
}

// answered says that one that was taken is answered.
func (l *lane) answered() {
	l.open--
	if l.open == 0 || l.full && l.open == l.most/2 {
		*l.eased = append(*l.eased, l)
	}
}

// turns are lanes in the order in which they are served.
type turns struct{ first, last *lane }

func (t *turns) push(l *lane) {
	if t.first == nil {
		t.first = l
	} else {
		t.last.next = l
	}
	t.last = l
}

func (t *turns) pop() *lane {
	l := t.first
	t.first, l.next = l.next, nil
	return l
}

func (t *turns) empty() bool { return t.first == nil }
