package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
)

// raftProto is what both ends of a raft connection call it (ALPN).
const raftProto = "jeton-raft/2"

// addressFunc tells raft where a server is now.
type addressFunc func(ring.NodeID) (string, error)

// ServerAddr implements raft.ServerAddressProvider. The address says who is meant, too: see Dial.
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

// stream is raft's connections: those that the listener accepts, and those that it dials; TLS over the cluster key if
// there is one. Whoever dials says first which server is meant:
//
//	16 bytes  the name of the server
//	          raft's own messages
//
// Raft asks whoever is at an address. After a disk was lost there is another server at it, which has forgotten what the
// old one had stored: its vote in the old one's place could elect a leader without the newest entries, and they would be
// lost.
type stream struct {
	id        ring.NodeID
	listener  net.Listener
	advertise address
	tls       *tls.Config // nil: plain

	mu     sync.Mutex
	open   map[*accepted]struct{}
	closed bool
}

// newStream puts the key's encryption around the listener.
func newStream(config agreementConfig) (*stream, error) {
	s := &stream{id: config.ID, listener: config.Listener, advertise: address(config.Advertise), open: map[*accepted]struct{}{}}
	if config.Key == nil {
		return s, nil
	}
	keyed, err := config.Key.TLS()
	if err != nil {
		return nil, fmt.Errorf("encrypting raft: %w", err)
	}
	s.tls = keyed.Clone()
	s.tls.NextProtos = []string{raftProto}
	return s, nil
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

// Accept implements net.Listener.
func (s *stream) Accept() (net.Conn, error) {
	conn, err := s.listener.Accept()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	a := &accepted{Conn: conn, stream: s}
	s.open[a] = struct{}{}
	if s.tls == nil {
		return &called{Conn: a, id: s.id}, nil
	}
	return &called{Conn: tls.Server(a, s.tls), id: s.id}, nil // shakes hands at the first read, on the goroutine of the connection
}

// called is an accepted connection, which is over at once if somebody else was meant. Read is for one goroutine.
type called struct {
	net.Conn
	id ring.NodeID
	by bool // its name was read
}

// Read implements net.Conn.
func (c *called) Read(b []byte) (int, error) {
	if !c.by {
		var meant ring.NodeID
		if _, err := io.ReadFull(c.Conn, meant[:]); err != nil {
			return 0, err
		}
		if meant != c.id {
			return 0, io.EOF // raft says nothing of that
		}
		c.by = true
	}
	return c.Conn.Read(b)
}

// Addr implements net.Listener: the address that others know.
func (s *stream) Addr() net.Addr { return s.advertise }

// Close implements net.Listener.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	err := s.listener.Close()
	for c := range s.open {
		err = errors.Join(err, c.Conn.Close())
	}
	clear(s.open)
	return err
}

// Dial implements raft.StreamLayer. The address is one of calling; whoever answers there is somebody else if the connection
// ends at once.
func (s *stream) Dial(at raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	name, where, found := strings.Cut(string(at), "@")
	id, err := ring.ParseNodeID(name)
	if !found || err != nil {
		return nil, fmt.Errorf("the raft of the node at %s: it is not known which node that is", at)
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
			return nil, errors.Join(fmt.Errorf("the raft of the node at %s: %w", where, err), conn.Close())
		}
		conn = keyed
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
