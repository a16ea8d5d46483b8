package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"github.com/jeton-dev/jeton/internal/bound"
)

const (
	// firstBuffer is how much is read at first; a buffer that is empty and larger than keptBuffer is given up.
	firstBuffer = 4 << 10
	keptBuffer  = 64 << 10
	// writeAt is how many bytes of answers are collected before they are written.
	writeAt = 64 << 10
	// completeWithin is how long a handshake, a command that has begun, or AUTH where a token is needed, may take.
	completeWithin = 10 * time.Second
	// writeWithin is how long one write of answers may take.
	writeWithin = 10 * time.Second
)

// A conn is a connection of a client. It reads what has come, answers all complete commands of it, writes the answers, and only then reads
// further: a client that does not read its answers is not read either.
//
//	in:  ▓▓▓▓▓▓▓│▓▓▓▓▓▓▓│▓▓▓▓░░░░░      measure ─▶ parse ─▶ handle ─▶ out
//	     command command begun free
type conn struct {
	session

	raw      net.Conn
	bound    *bound.Conn // below raw
	stopping <-chan struct{}

	in       []byte // what was read and not answered yet
	measure  measure
	args     [][]byte  // of the present command
	full     bool      // the last read has filled in
	held     int       // bytes of buffers that bound counts
	begun    time.Time // when the command that is not complete has begun
	stranger time.Time // since when the client has to show a token; zero if it need not
	deadline time.Time // of reads, as it is set; zero for none
}

// newConn makes what answers raw, a connection of a bound.Listener, or TLS on one.
func newConn(s *shared, raw net.Conn, stopping <-chan struct{}) *conn {
	c := &conn{raw: raw, bound: bound.Of(raw), stopping: stopping}
	c.shared, c.id, c.from = s, s.last.Add(1), raw.RemoteAddr().String()
	c.proved = func() { c.bound.Prove(bound.Caller) }
	c.init()
	return c
}

// serve answers the client until it, or the door, ends the connection. The caller closes it.
func (c *conn) serve(ctx context.Context) {
	if !c.shakeHands(ctx) {
		return
	}
	for c.await() && c.read() {
		err := c.handleAll(ctx)
		if err != nil {
			c.out.fail(err)
		}
		switch {
		case !c.write():
			return
		case err != nil:
			c.bound.Refuse(bound.Malformed)
			return
		case c.ended, !c.count():
			return
		}
	}
}

// shakeHands finishes the handshake of TLS.
func (c *conn) shakeHands(ctx context.Context) bool {
	secure, ok := c.raw.(*tls.Conn)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		c.bound.Refuse(bound.Unproved)
		return false
	}
	if len(secure.ConnectionState().VerifiedChains) > 0 {
		c.proved()
	}
	return true
}

// await sets until when the rest of a command, or a token, may come, and says whether the door goes on.
func (c *conn) await() bool {
	switch {
	case c.authed:
		c.stranger = time.Time{}
	case c.stranger.IsZero():
		c.stranger = time.Now()
	}
	var until time.Time
	switch {
	case !c.authed:
		until = c.stranger.Add(completeWithin)
	case len(c.in) > 0:
		until = c.begun.Add(completeWithin)
	}
	if !until.Equal(c.deadline) {
		if err := c.raw.SetReadDeadline(until); err != nil {
			return false
		}
		c.deadline = until
	}
	select {
	case <-c.stopping: // asked after the deadline was set, which Stop sets after it has closed the channel
		return false
	default:
		return true
	}
}

// read waits for more, and says whether something has come.
func (c *conn) read() bool {
	c.makeRoom()
	if !c.count() {
		return false
	}
	n, err := c.raw.Read(c.in[len(c.in):cap(c.in)])
	if len(c.in) == 0 {
		c.begun = time.Now()
	}
	c.in = c.in[:len(c.in)+n]
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.await() {
		c.bound.Refuse(bound.Late)
	}
	return n > 0
}

// makeRoom makes the buffer larger where it is full, or was: as large as a command that is not complete needs, and up to keptBuffer for
// pipelines, whose checks are decided together as far as they are read together.
func (c *conn) makeRoom() {
	switch size := cap(c.in); {
	case size == 0, len(c.in) == 0 && size > keptBuffer:
		c.in, c.full = make([]byte, 0, firstBuffer), false
	case len(c.in) == size, c.full && size < keptBuffer:
		c.in, c.full = append(make([]byte, 0, 2*size), c.in...), false
	}
}

// handleAll answers all commands that are complete. The error is a protocolError.
func (c *conn) handleAll(ctx context.Context) error {
	c.recheckToken()
	c.full = len(c.in) == cap(c.in)
	rest := c.in
	defer func() { c.in = c.in[:copy(c.in, rest)] }()
	for !c.ended {
		most := maxFrame
		if !c.authed {
			most = maxStrangerFrame
		}
		end, err := c.measure.end(rest, most)
		if err == nil && end > 0 {
			err = c.handleOne(ctx, rest[:end])
		}
		if err != nil {
			c.decideAll(ctx)
			return err
		}
		if end == 0 {
			break
		}
		c.measure, c.begun = measure{}, time.Now()
		rest = rest[end:]
		if len(c.out.bytes) >= writeAt && !c.write() {
			c.ended = true
		}
	}
	c.decideAll(ctx)
	return nil
}

// handleOne parses and answers the command that frame holds, whole.
func (c *conn) handleOne(ctx context.Context, frame []byte) error {
	complete, args, kind, rest, err := redcon.ReadNextCommand(frame, c.args[:0])
	switch {
	case err != nil:
		return protocolError(strings.TrimPrefix(err.Error(), "Protocol error: "))
	case !complete || len(rest) > 0:
		return protocolError("a command does not end where its lengths say")
	case len(args) == 0:
		return nil
	}
	if first := lower(args[0][:min(len(args[0]), len("host:"))]); kind == redcon.Telnet && (first == "post" || first == "host:") {
		return protocolError("this is HTTP: the door speaks the Redis protocol")
	}
	c.args = args
	c.handle(ctx, args)
	clear(args) // they are pieces of a buffer that may be given up
	return nil
}

// write writes all answers.
func (c *conn) write() bool {
	if len(c.out.bytes) == 0 {
		return true
	}
	if err := c.raw.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return false
	}
	_, err := c.raw.Write(c.out.bytes)
	c.out.bytes = c.out.bytes[:0]
	if cap(c.out.bytes) > keptBuffer {
		c.out.bytes = nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.bound.Cut(bound.Unread)
	}
	return err == nil
}

// count tells the listener how much memory the buffers take, and says whether it lets the connection go on.
func (c *conn) count() bool {
	now := cap(c.in) + cap(c.out.bytes)
	more := now - c.held
	c.held = now
	switch {
	case more > 0:
		return c.bound.Hold(more)
	case more < 0:
		c.bound.Release(-more)
	}
	return true
}
