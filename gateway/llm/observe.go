package llm

import (
	"errors"
	"io"

	"github.com/jeton-dev/jeton/gateway/llm/sse"
)

// An observer sees the bytes of an answer as they pass. It keeps none of the slices that it is shown.
type observer interface {
	see(p []byte)
	result(a *Answer)
}

// unread is an observer that looks at nothing.
type unread struct{ why string }

func (unread) see([]byte)         {}
func (u unread) result(a *Answer) { a.Missing = u.why }

// events observes a stream.
type events struct {
	tally
	scanner *sse.Scanner
}

func (s *events) see(p []byte) {
	for len(p) > 0 {
		n, part := s.scanner.Next(p)
		if part == sse.End {
			s.event(s.scanner.Event())
		}
		p = p[n:]
	}
}

// document observes a JSON document.
type document struct {
	tally
	pruned
	max  int
	long bool
}

func newDocument(count tally, most int) *document {
	return &document{tally: count, max: most, pruned: pruned{wanted: count.wants}}
}

func (d *document) see(p []byte) {
	if !d.long && !d.add(p, d.max) {
		d.long, d.kept = true, nil
	}
}

func (d *document) result(a *Answer) {
	if d.long {
		a.Missing = "it is longer than what is kept to read it"
		return
	}
	d.whole(d.kept)
	d.tally.result(a)
}

// A body is an answer that passes as it comes.
type body struct {
	upstream io.ReadCloser
	observer observer
	answer   Answer
	report   func(Answer)
	closed   bool
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.upstream.Read(p)
	if n > 0 {
		b.observer.see(p[:n])
	}
	b.answer.Complete = b.answer.Complete || errors.Is(err, io.EOF)
	return n, err
}

// Close implements [io.Closer], and reports the first time.
func (b *body) Close() error {
	err := b.upstream.Close()
	if !b.closed {
		b.closed = true
		b.observer.result(&b.answer)
		b.report(b.answer)
	}
	return err
}
