package peers

import (
	"errors"
	"time"

	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// asked is what one call of Reserve asks.
type asked struct {
	rs   []reg.Reservation
	done func([]reg.Answer, error)
	at   time.Time

	sent int // of rs are in messages; send's

	// Of hear, and of serve when hear has ended.
	answers  []reg.Answer // made when the answers come in several messages
	answered int
	err      error
	over     bool // done was called
}

// A message is on its way to the node, or its answer is on its way back.
type message struct {
	writer reg.Writer
	parts  []part
	asked  [][]reg.Reservation // of the parts; made when it is sent
	len    int
	whole  bool      // its ledgers go whole
	at     time.Time // when its first reservation was asked
	sent   time.Time
}

// A part of what was asked goes in one message.
type part struct {
	of       *asked
	from, to int
}

// again is a message with what the node asks for the whole of; nil for nothing.
func (m *message) again(answers []reg.Answer) (again *message) {
	if len(answers) == 0 {
		return nil
	}
	from := 0
	for _, p := range m.parts {
		for i := range p.to - p.from {
			if answers[from+i].Verdict != reg.OtherBase {
				continue
			}
			if again == nil {
				again = &message{writer: m.writer, whole: true, at: m.at}
			}
			again.parts = append(again.parts, part{p.of, p.from + i, p.from + i + 1})
			again.len++
		}
		from += p.to - p.from
	}
	return again
}

// answer gives the answers to who asked, but to what is sent again.
func (m *message) answer(in *pb.ReservedIn) {
	answers := in.Answers
	for _, p := range m.parts {
		if in.Error != "" {
			p.of.answer(p, nil, errors.New(in.Error))
			continue
		}
		for p.from < p.to {
			n := 0
			for n < p.to-p.from && answers[n].Verdict != reg.OtherBase {
				n++
			}
			if n > 0 {
				p.of.answer(part{p.of, p.from, p.from + n}, answers[:n:n], nil)
			} else {
				n = 1
			}
			p.from, answers = p.from+n, answers[n:]
		}
	}
}

// answer takes the answers to one part, and calls done with the last.
func (a *asked) answer(p part, answers []reg.Answer, err error) {
	n := p.to - p.from
	if a.answered += n; n == len(a.rs) {
		a.over = true
		a.done(answers, err)
		return
	}
	if a.answers == nil {
		a.answers = make([]reg.Answer, len(a.rs))
	}
	copy(a.answers[p.from:p.to], answers)
	if err != nil {
		a.err = err
	}
	if a.answered < len(a.rs) {
		return
	}
	if a.over = true; a.err != nil {
		a.answers = nil
	}
	a.done(a.answers, a.err)
}

// written is a message that has been written already.
type written []byte

// WireRoom is how many bytes it takes.
func (w written) WireRoom() int { return len(w) }

// AppendWire appends it to b.
func (w written) AppendWire(b []byte) ([]byte, error) { return append(b, w...), nil }
