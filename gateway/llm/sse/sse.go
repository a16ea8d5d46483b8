// Package sse reads streams of server-sent events by the rules of the WHATWG HTML standard, section "Parsing an event stream": lines
// end with LF, CRLF or CR, a byte order mark may stand first, and lines that start with a colon are comments.
//
// It promises that the events it reports do not depend on how the bytes were cut into pieces, that it never blocks, and that it
// never keeps more than its bound. It does not own the stream: the caller has the bytes, hands them in as they come, and learns where
// each event ends. Start with [Scanner].
package sse

import "bytes"

// A Part says what the bytes are that [Scanner.Next] has consumed.
type Part uint8

const (
	// Inside means that the bytes belong to an event that has not ended.
	Inside Part = iota
	// End means that the last of the bytes ends the event.
	End
	// Tail means that the byte is the LF of a CRLF whose CR has ended the event before.
	Tail
)

// An Event is what stands between two blank lines.
type Event struct {
	// Name is the value of the last field "event"; empty for none.
	Name []byte
	// Data is the values of the fields "data", joined by LF. It is empty where there was none, and then a browser dispatches no event.
	Data []byte
	// Long says that the event was longer than the bound. Name and Data are empty then.
	Long bool
}

// buffer is the capacity in bytes that a Scanner keeps from one event to the next. What a longer event needed is given back.
const buffer = 64 << 10

var mark = []byte("\xEF\xBB\xBF") // the byte order mark

// A Scanner finds the events of one stream. One goroutine may use it at a time.
type Scanner struct {
	max int

	line  []byte // what has come of the line that has not ended
	name  []byte
	data  []byte
	lines int // fields "data" of this event

	size  int  // bytes of this event; the end of a line counts as one
	open  bool // the line that has not ended has a byte
	begun bool // the first line of the stream has ended
	cr    bool // the last byte was a CR that ended a line: an LF that follows belongs to it
	ended bool // the event has ended: the next byte belongs to the next one
	long  bool
}

// NewScanner makes a Scanner that keeps at most that many bytes of an event. A longer event is found, but not read.
func NewScanner(most int) *Scanner { return &Scanner{max: most} }

// Next consumes bytes from the start of p, up to the end of an event or else all of them, and says how many and what they are.
// The caller calls it again with the rest of p until nothing is left.
func (s *Scanner) Next(p []byte) (n int, part Part) {
	if len(p) == 0 {
		return 0, Inside
	}
	at := 0
	if s.cr {
		s.cr = false
		if p[0] == '\n' {
			if s.ended {
				return 1, Tail
			}
			at = 1
		}
	}
	if s.ended {
		s.reset()
	}
	for at < len(p) {
		length := bytes.IndexAny(p[at:], "\r\n")
		if length < 0 {
			s.keep(p[at:])
			break
		}
		line := p[at : at+length]
		at += length + 1
		if p[at-1] == '\r' {
			if at == len(p) {
				s.cr = true
			} else if p[at] == '\n' {
				at++
			}
		}
		if s.endLine(line) {
			s.ended = true
			return at, End
		}
	}
	return len(p), Inside
}

// Event is the event that has ended. It is valid after Next has returned End, until the next call of Next.
func (s *Scanner) Event() Event {
	if s.long {
		return Event{Long: true}
	}
	return Event{Name: s.name, Data: s.data}
}

// Long says whether the event that has not ended is already longer than the bound.
func (s *Scanner) Long() bool { return s.long && !s.ended }

// reset makes room for the next event.
func (s *Scanner) reset() {
	s.line, s.name, s.data = shrunk(s.line), shrunk(s.name), shrunk(s.data)
	s.lines, s.size = 0, 0
	s.ended, s.long = false, false
}

// shrunk is b, empty, or nothing if b takes too much room.
func shrunk(b []byte) []byte {
	if cap(b) > buffer {
		return nil
	}
	return b[:0]
}

// grow counts bytes of the event, and drops what was kept of an event that is too long.
func (s *Scanner) grow(n int) {
	if s.long {
		return
	}
	s.size += n
	if s.size > s.max {
		s.long = true
		s.line, s.name, s.data = nil, nil, nil
	}
}

// keep remembers the start of a line, or more of it.
func (s *Scanner) keep(p []byte) {
	s.open = true
	s.grow(len(p))
	if !s.long {
		s.line = append(s.line, p...)
	}
}

// endLine reads a line of which rest has not been kept. It says whether the line ends the event.
func (s *Scanner) endLine(rest []byte) (blank bool) {
	s.grow(len(rest) + 1)
	open := s.open || len(rest) > 0
	s.open = false
	first := !s.begun
	s.begun = true
	if s.long {
		return !open
	}
	line := rest
	if len(s.line) > 0 {
		s.line = append(s.line, rest...)
		line = s.line
	}
	if first {
		line = bytes.TrimPrefix(line, mark)
	}
	if len(line) == 0 {
		return true
	}
	s.field(line)
	s.line = s.line[:0]
	return false
}

// field reads a line that is not blank.
func (s *Scanner) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "event":
		s.name = append(s.name[:0], value...)
	case "data":
		if s.lines > 0 {
			s.data = append(s.data, '\n')
		}
		s.lines++
		s.data = append(s.data, value...)
	}
}
