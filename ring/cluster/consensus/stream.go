package consensus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
)

// raftProto is what both ends of a raft connection call it (ALPN).
const raftProto = "jeton-raft/2"

// addressFunc tells raft where a server is now.
type addressFunc func(ring.NodeID) (string, error)

// ServerAddr implements raft.ServerAddressProvider. The address also names the server that is meant: see Dial.
func (f addressFunc) ServerAddr(name raft.ServerID) (raft.ServerAddress, error) {
	id, err := ring.ParseNodeID(string(name))
	if err != nil {
		return "", err
	}
	where, err := f(id)
	return calling(id, where), err
}

// calling is the address, for Dial, of the server with that name.
func calling(id ring.NodeID, where string) raft.ServerAddress {
	return raft.ServerAddress(id.String() + "@" + where)
}

// An address is a host:port as others know it.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// How long a raft connection may take.
const (
	greetWithin   = 5 * time.Second // from its beginning until it has said which server is meant
	messageWithin = time.Minute     // from the first byte of a message to its last; a snapshot is one
)

// stream is raft's connections: those that the listener accepts, and those that it dials; TLS over the cluster key if
// there is one. The node that dials says first which server it means:
//
//	16 bytes  the name of the server
//	          raft's own messages
//
// Raft itself takes the server at an address for the one it means. After a disk was lost there is another server at that address,
// without what the old one had stored: its vote in place of the old one's could elect a leader without the newest entries, and they
// would be lost.
//
// Raft sees a connection only after this greeting. Until then the connection has a goroutine of the stream, and a short deadline.
type stream struct {
	id        ring.NodeID
	listener  *bound.Listener
	advertise address
	key       *key.Key
	tls       *tls.Config // nil: plain

	greeted chan net.Conn  // for Accept
	broken  chan error     // takes the error of the listener
	done    chan struct{}  // closed by Close
	tasks   sync.WaitGroup // the goroutines that accept and greet

	mu     sync.Mutex
	open   map[*accepted]struct{}
	closed bool
}

// newStream puts bounds and the key's encryption around the listener. It accepts from begin on.
func newStream(config Config) *stream {
	s := &stream{
		id: config.ID, listener: bound.New(config.Listener, config.Bounds), advertise: address(config.Advertise), open: map[*accepted]struct{}{},
		greeted: make(chan net.Conn), broken: make(chan error, 1), done: make(chan struct{}),
	}
	if config.Key != nil {
		s.key, s.tls = config.Key, config.Key.TLS()
		s.tls.NextProtos = []string{raftProto}
	}
	return s
}

// start accepts connections, until Close.
func (s *stream) start() { s.tasks.Go(s.listen) }

// listen accepts until Close, or until the listener breaks.
func (s *stream) listen() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			s.broken <- err
			return
		}
		a := &accepted{Conn: conn, stream: s}
		if !s.add(a) {
			_ = a.Conn.Close() // nothing was said over it
			return
		}
		s.tasks.Go(func() { s.greet(a) })
	}
}

// add notes a connection, unless the stream is closed.
func (s *stream) add(a *accepted) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open[a] = struct{}{}
	}
	return !s.closed
}

// greet hands a connection to raft once it has proved to have the key, and has said that this server is meant.
func (s *stream) greet(a *accepted) {
	conn, err := s.meet(a)
	if err != nil {
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			bound.Of(a.Conn).Cut(bound.Late)
		case !errors.Is(err, errNotMeant) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF):
			bound.Of(a.Conn).Refuse(bound.Unproved)
		}
		_ = a.Close() // raft has not seen it
		return
	}
	select {
	case s.greeted <- conn:
	case <-s.done:
		_ = a.Close() // likewise
	}
}

// errNotMeant is about a connection for the server that was at this address before.
var errNotMeant = errors.New("the connection is meant for another server")

// meet shakes hands, and reads which server is meant.
func (s *stream) meet(a *accepted) (net.Conn, error) {
	if err := a.SetDeadline(time.Now().Add(greetWithin)); err != nil {
		return nil, err
	}
	conn := net.Conn(a)
	if s.tls != nil {
		keyed := tls.Server(a, s.tls)
		if err := keyed.Handshake(); err != nil { //nolint:noctx // the connection has a deadline
			return nil, err
		}
		bound.Of(a.Conn).Prove(bound.Node)
		conn = s.key.Hold(keyed, a, keyed.ConnectionState())
	}
	var meant ring.NodeID
	if _, err := io.ReadFull(conn, meant[:]); err != nil {
		return nil, err
	}
	if meant != s.id {
		return nil, errNotMeant
	}
	return &exchange{Conn: conn}, conn.SetDeadline(time.Time{})
}

// accepted is a connection that Close of its stream closes: raft leaves them to the other side.
type accepted struct {
	net.Conn
	stream *stream
}

// Close implements net.Conn.
func (c *accepted) Close() error {
	c.stream.mu.Lock()
	delete(c.stream.open, c)
	c.stream.mu.Unlock()
	return c.Conn.Close()
}

// An exchange is a connection on which one goroutine reads a message and then writes its answer. A message must be complete soon
// after its first byte; the time between two messages has no bound.
type exchange struct {
	net.Conn
	inMessage bool // a message was, and has a deadline
}

// Read implements net.Conn.
func (c *exchange) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.inMessage {
		c.inMessage = true
		err = errors.Join(err, c.SetReadDeadline(time.Now().Add(messageWithin)))
	}
	return n, err
}

// Write implements net.Conn.
func (c *exchange) Write(b []byte) (int, error) {
	if c.inMessage {
		c.inMessage = false
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// Accept implements net.Listener.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.greeted:
		return conn, nil
	case err := <-s.broken:
		s.broken <- err // for the next one
		return nil, err
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener: the address that others know.
func (s *stream) Addr() net.Addr { return s.advertise }

// Close implements net.Listener.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	err := s.listener.Close()
	for c := range s.open {
		if cerr := c.Conn.Close(); !errors.Is(cerr, net.ErrClosed) { // it may have been cut off
			err = errors.Join(err, cerr)
		}
	}
	clear(s.open)
	s.mu.Unlock()
	s.tasks.Wait()
	return err
}

// Dial implements raft.StreamLayer. The address is one of calling. If another server than the one that is meant listens there, it
// closes the connection at once.
func (s *stream) Dial(at raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	name, where, found := strings.Cut(string(at), "@")
	id, err := ring.ParseNodeID(name)
	if !found || err != nil {
		return nil, fmt.Errorf("raft address %q does not name a node: it is not ID@host:port", at)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", where)
	if err != nil {
		return nil, err
	}
	if s.tls != nil {
		keyed := tls.Client(conn, s.tls)
		if err := keyed.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("connecting to raft at %s: %w", where, err), conn.Close())
		}
		conn = s.key.Hold(keyed, conn, keyed.ConnectionState())
	}
	err = conn.SetWriteDeadline(time.Now().Add(timeout))
	if err == nil {
		_, err = conn.Write(id[:])
	}
	if err = errors.Join(err, conn.SetWriteDeadline(time.Time{})); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
