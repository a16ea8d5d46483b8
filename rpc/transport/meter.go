package transport

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/internal/bound"
)

// A meter is a connection of HTTP/2 that counts what grpc keeps for it, by the frames that pass: calls that are under way, and
// messages that are not complete. grpc bounds each of them, but not all together, nor their time.
//
//	client ─▶ HEADERS ─▶ a call costs callCost, and what its header is worth, until the server ends it
//	       ─▶ DATA ─▶ a message that is not complete costs its bytes, and has to be complete within messageWithin
//	       ─▶ RST_STREAM ─▶ the call is over
//	server ─▶ HEADERS or DATA with END_STREAM, RST_STREAM ─▶ the call is over
//
// What is counted is held of the bounds of the connection; see [bound.Conn].
type meter struct {
	net.Conn
	of *bound.Conn

	in, out frames // of the reader, and of the writer

	mu      sync.Mutex
	calls   map[uint32]*metered
	highest uint32    // the last call that was begun
	header  fields    // of the call that was begun last
	partial []partial // messages that are not complete, the oldest first; some may be complete by now
	due     time.Time // the deadline that reading has
}

// metered is a call.
type metered struct {
	head   [5]byte   // of its message: a flag, and the length
	had    int       // bytes of head that were read
	left   int       // bytes of the message that are missing, its head not counted
	held   int       // for a message that is not complete
	begun  time.Time // when the message began
	always int       // what the call costs anyway: callCost, and its header
}

// partial is a message by its call.
type partial struct {
	call  *metered
	begun time.Time
}

const (
	// callCost is about what a call costs besides its header and its message: a goroutine, and what grpc knows of it.
	callCost = 8 << 10
	// fieldCost is about what a field of a header costs, however short it is: grpc makes room for all of them twice over.
	fieldCost = 160
	// maxHeaderCost is what a header costs at most: grpc keeps no longer one.
	maxHeaderCost = MaxHeaders/32*fieldCost + MaxHeaders
	// frameCost is about what grpc needs for a piece of a message, however small it is.
	frameCost = 256
	// messageWithin is how long a message may take from its first byte to its last.
	messageWithin = 10 * time.Second
	// duePrecision is how exactly that is kept: a busy connection is not to change its deadline with every read.
	duePrecision = time.Second
)

// The frames of HTTP/2 that matter.
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameContinue = 9 // a header goes on
	flagEnd       = 1 // END_STREAM
	flagPadded    = 8
	flagPriority  = 32
	priority      = 5 // bytes
	frameHead     = 9
	preface       = 24 // "PRI * HTTP/2.0…", what a client says first
)

// Metered is conn, which stands on of, with what grpc keeps for it counted as held of the bounds of of.
func Metered(conn net.Conn, of *bound.Conn) net.Conn { return newMeter(conn, of) }

func newMeter(conn net.Conn, of *bound.Conn) *meter {
	m := &meter{Conn: conn, of: of, in: frames{skip: preface}, calls: map[uint32]*metered{}}
	m.in.take, m.out.take = m.received, m.sent
	return m
}

// Read implements net.Conn.
func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if n > 0 {
		m.mu.Lock()
		held := m.in.each(b[:n])
		due, changed := m.dueLocked()
		m.mu.Unlock()
		if changed {
			if derr := m.SetReadDeadline(due); err == nil {
				err = derr
			}
		}
		if held != 0 && !m.count(held) && err == nil {
			err = net.ErrClosed
		}
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // it is that of the connection
		m.of.Cut(bound.Late)
	}
	return n, err
}

// Write implements net.Conn.
func (m *meter) Write(b []byte) (int, error) {
	m.mu.Lock()
	held := m.out.each(b)
	m.mu.Unlock()
	if held != 0 {
		m.count(held)
	}
	return m.Conn.Write(b)
}

// count holds bytes, or releases them.
func (m *meter) count(held int) bool {
	if held < 0 {
		m.of.Release(-held)
		return true
	}
	return m.of.Hold(held)
}

// RemoteAddr implements net.Conn. The address leads back to the connection: it is what a call knows of it.
func (m *meter) RemoteAddr() net.Addr { return callerAddr{m.Conn.RemoteAddr(), m.of} }

// A callerAddr is where a call comes from.
type callerAddr struct {
	net.Addr
	conn *bound.Conn
}

// ConnOf is the connection of a call; nil if it came in another way.
func ConnOf(ctx context.Context) *bound.Conn {
	if p, ok := peer.FromContext(ctx); ok {
		if from, ok := p.Addr.(callerAddr); ok {
			return from.conn
		}
	}
	return nil
}

// NetConn is the connection below.
func (m *meter) NetConn() net.Conn { return m.Conn }

// received takes a part of a frame of the client, and returns how many more bytes are held.
func (m *meter) received(f *frames, part []byte) int {
	switch {
	case f.kind == frameHeaders && len(part) == 0 && f.stream > m.highest:
		m.highest, m.header = f.stream, fields{}
		m.calls[f.stream] = &metered{always: callCost}
		return callCost
	case f.kind == frameHeaders || f.kind == frameContinue:
		return m.begun(f.stream, part)
	case f.kind == frameReset:
		return m.over(f.stream)
	case f.kind != frameData:
		return 0
	}
	call := m.calls[f.stream]
	if call == nil {
		return 0
	}
	return m.data(call, part)
}

// begun takes a piece of the header of a call.
func (m *meter) begun(stream uint32, part []byte) (held int) {
	call := m.calls[stream]
	if call == nil || stream != m.highest {
		return 0
	}
	n, spelled := m.header.count(part)
	held = min(n*fieldCost+spelled, callCost+maxHeaderCost-call.always)
	call.always += held
	return held
}

// data takes a piece of a call's messages.
func (m *meter) data(call *metered, part []byte) (held int) {
	for len(part) > 0 {
		if call.had < len(call.head) {
			n := copy(call.head[call.had:], part)
			call.had += n
			part = part[n:]
			held += n
			call.held += n
			if call.had == len(call.head) {
				call.left = int(binary.BigEndian.Uint32(call.head[1:]))
			}
		} else {
			n := min(call.left, len(part))
			call.left -= n
			part = part[n:]
			held += n
			call.held += n
		}
		if call.had == len(call.head) && call.left == 0 {
			held -= call.held
			call.held, call.had, call.begun = 0, 0, time.Time{}
		}
	}
	if call.held > 0 {
		held += frameCost
		call.held += frameCost
		if call.begun.IsZero() {
			call.begun = time.Now()
			m.partial = append(m.partial, partial{call, call.begun})
		}
	}
	return held
}

// sent takes a part of a frame of the server.
func (m *meter) sent(f *frames, _ []byte) int {
	if f.kind == frameReset || (f.kind == frameHeaders || f.kind == frameData) && f.flags&flagEnd != 0 {
		return m.over(f.stream)
	}
	return 0
}

// over ends a call, and returns what is held no more.
func (m *meter) over(stream uint32) int {
	call := m.calls[stream]
	if call == nil {
		return 0
	}
	delete(m.calls, stream)
	held := call.held + call.always
	*call = metered{}
	return -held
}

// dueLocked is until when the oldest message is to be complete, and whether reading is to be told.
func (m *meter) dueLocked() (due time.Time, changed bool) {
	for len(m.partial) > 0 && !m.partial[0].call.begun.Equal(m.partial[0].begun) {
		m.partial = m.partial[1:]
	}
	if len(m.partial) == 0 {
		m.partial = nil
		changed = !m.due.IsZero()
		m.due = time.Time{}
		return m.due, changed
	}
	due = m.partial[0].begun.Add(messageWithin)
	if !m.due.IsZero() && due.Sub(m.due) < duePrecision {
		return m.due, false
	}
	m.due = due
	return due, true
}

// frames finds the frames in what passes, however it is cut:
//
//	3 bytes  the length of what follows the head
//	1 byte   the kind
//	1 byte   flags
//	4 bytes  the stream
type frames struct {
	take   func(*frames, []byte) int
	skip   int // bytes that are no frame
	head   [frameHead]byte
	had    int // bytes of head that were read
	left   int // bytes of the frame that are missing
	pad    int // of them, those at the end that are padding
	front  int // of them, those at the beginning that say how urgent a call is
	padded bool
	kind   byte
	flags  byte
	stream uint32
}

// each calls take at the head of every frame, with nothing, and with every piece of data and of headers, and adds up what it
// returns.
func (f *frames) each(b []byte) (sum int) {
	for len(b) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(b))
			f.skip -= n
			b = b[n:]
			continue
		}
		if f.left > 0 {
			n := min(f.left, len(b))
			sum += f.payload(b[:n])
			f.left -= n
			b = b[n:]
			continue
		}
		n := copy(f.head[f.had:], b)
		f.had += n
		b = b[n:]
		if f.had < frameHead {
			break
		}
		f.had = 0
		f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
		f.kind, f.flags = f.head[3], f.head[4]
		f.stream = binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31)
		f.padded, f.pad, f.front = f.kind <= frameHeaders && f.flags&flagPadded != 0, 0, 0
		if f.kind == frameHeaders && f.flags&flagPriority != 0 {
			f.front = priority
		}
		sum += f.take(f, nil)
	}
	return sum
}

// payload takes the next n bytes of a frame.
func (f *frames) payload(b []byte) int {
	if f.kind > frameHeaders && f.kind != frameContinue {
		return 0
	}
	left := f.left
	if f.padded { // the first byte says how much padding is at the end
		f.padded, f.pad = false, int(b[0])
		b, left = b[1:], left-1
	}
	n := min(f.front, len(b))
	f.front -= n
	b, left = b[n:], left-n
	if n := min(len(b), left-f.pad); n > 0 {
		return f.take(f, b[:n])
	}
	return 0
}
