package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
)

// raftProto is what both ends of a raft connection call it (ALPN).
const raftProto = "jeton-raft"

// addressFunc tells raft where a server is now.
type addressFunc func(ring.NodeID) (string, error)

// ServerAddr implements raft.ServerAddressProvider.
func (f addressFunc) ServerAddr(name raft.ServerID) (raft.ServerAddress, error) {
	id, err := ring.ParseNodeID(string(name))
	if err != nil {
		return "", err
	}
	where, err := f(id)
	return raft.ServerAddress(where), err
}

// An address is a host:port as others know it.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// stream is raft's connections: those that the listener accepts, and those that it dials; TLS over the cluster key if
// there is one.
type stream struct {
	listener  net.Listener
	advertise address
	tls       *tls.Config // nil: plain

	mu     sync.Mutex
	open   map[*accepted]struct{}
	closed bool
}

// newStream puts the key's encryption around the listener.
func newStream(config agreementConfig) (*stream, error) {
	s := &stream{listener: config.Listener, advertise: address(config.Advertise), open: map[*accepted]struct{}{}}
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
		return a, nil
	}
	return tls.Server(a, s.tls), nil // shakes hands at the first read, on the goroutine of the connection
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

// Dial implements raft.StreamLayer.
func (s *stream) Dial(where raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", string(where))
	if err != nil || s.tls == nil {
		return conn, err
	}
	keyed := tls.Client(conn, s.tls)
	if err := keyed.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the raft of the node at %s: %w", where, err), conn.Close())
	}
	return keyed, nil
}
