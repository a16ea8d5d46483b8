package llm

import (
	"errors"
	"io"

	"github.com/jeton-dev/jeton/gateway/llm/sse"
)

// pieces is how many bytes a filter reads from its upstream at once.
const pieces = 32 << 10

// A filter is a stream out of which the usage event is taken. It holds back the event that has not ended, up to the bound of an event.
//
//	upstream ─ piece ─ Scanner ─┬─ held     the event that has not ended
//	                            └─ ready    what Read hands out
type filter struct {
	body

	events *events
	piece  []byte
	held   []byte
	ready  []byte // of which the first given bytes have been handed out
	given  int
	err    error // of the upstream, once all is handed out

	removed bool // the event before was taken out
}

// Read implements [io.Reader]. It returns as soon as an event has ended.
func (f *filter) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for f.given == len(f.ready) {
		f.ready, f.given = f.ready[:0], 0
		if cap(f.ready) > 2*pieces {
			f.ready = nil
		}
		if f.err != nil {
			return 0, f.err
		}
		f.fill()
	}
	n := copy(p, f.ready[f.given:])
	f.given += n
	return n, nil
}

// fill reads from the upstream once.
func (f *filter) fill() {
	if f.piece == nil {
		f.piece = make([]byte, pieces)
	}
	n, err := f.upstream.Read(f.piece)
	for p := f.piece[:n]; len(p) > 0; {
		used, part := f.events.scanner.Next(p)
		f.take(p[:used], part)
		p = p[used:]
	}
	if err == nil {
		return
	}
	f.answer.Complete = errors.Is(err, io.EOF)
	f.err = err
	f.release() // the start of an event that never ends
}

// take holds back bytes or hands them out.
func (f *filter) take(p []byte, part sse.Part) {
	switch part {
	case sse.Tail:
		if !f.removed {
			f.ready = append(f.ready, p...)
		}
	case sse.Inside:
		f.held = append(f.held, p...)
		if f.events.scanner.Long() {
			f.release()
		}
	case sse.End:
		f.removed = f.events.event(f.events.scanner.Event())
		if f.removed {
			f.held = f.held[:0]
			return
		}
		f.release()
		f.ready = append(f.ready, p...)
	}
}

// release hands out what is held back.
func (f *filter) release() {
	f.ready = append(f.ready, f.held...)
	f.held = f.held[:0]
	if cap(f.held) > 2*pieces {
		f.held = nil
	}
}
