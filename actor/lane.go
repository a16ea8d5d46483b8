package actor

// maxRound is how many mails a round takes: what arrives waits for no more than that, and for its turn.
const maxRound = 128

// maxTurn is how many mails of one caller are taken before it is another caller's turn.
const maxTurn = lookAhead

// lookAhead is how many mails have their actors looked up at once: first in the map, then in memory, so that they wait for
// memory together and not one after another.
const lookAhead = 32

// A lane is what one caller has handed to a shard: its mail that no round has taken, and its window. The inbox's lock guards
// the mail.
type lane struct {
	window
	mail []*mail
	done int   // places of mail before this one are empty
	next *lane // in turns
}

func (l *lane) len() int { return len(l.mail) - l.done }

func (l *lane) push(ms []*mail) { l.mail = append(l.mail, ms...) }

// pop moves the first n mails to the end of to.
func (l *lane) pop(to []*mail, n int) []*mail {
	some := l.mail[l.done : l.done+n]
	for _, m := range some {
		m.window = &l.window
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
