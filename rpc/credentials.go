package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/key"
)

// A node has one gRPC port for everybody: callers speak plain HTTP/2, or TLS in which both sides show a certificate of an
// authority; nodes and operators speak it within TLS in which both sides prove that they have the cluster key. The first
// byte of a connection tells plain text from TLS, and the name that is asked for in the hello says which TLS:
//
//	accept ─▶ first byte ─┬─ 0x16, a TLS record ─▶ hello ─┬─ asks for the cluster key ─▶ handshake with the key ──┐
//	                      │                               └─ anything else ──▶ handshake with the certificates ──┤
//	                      │                        jeton.v1.Peer and all of Admin too ◀── proved to have the key ┤
//	                      │                        what needs no key ◀── has a certificate of the authorities ───┘
//	                      └─ anything else ──▶ plain ─▶ what needs no key; with certificates, nothing at all
//
// What a caller may do depends on what it has proved and not on what it has asked for. A node without certificates takes
// every TLS for that of the cluster key.

const (
	// tlsRecord is the first byte of a TLS handshake. HTTP/2 begins with "PRI".
	tlsRecord = 0x16
	// handshakeWithin is how long a connection may take until the first request could come.
	handshakeWithin = 5 * time.Second
)

// errNoTLS refuses TLS at a node that has nothing to show.
var errNoTLS = errors.New("the caller speaks TLS, but this node has no cluster key and no certificate: give it --cluster-key-file, or --tls-cert, --tls-key and --tls-ca")

// Credentials are what nodes and operators present to a node: TLS in which both sides prove that they have the cluster key.
// With a nil key it is plain HTTP/2, and proves nothing. The error is the key's.
func Credentials(k *key.Key) (credentials.TransportCredentials, error) {
	if k == nil {
		return insecure.NewCredentials(), nil
	}
	config, err := k.TLS()
	if err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	return keyCredentials{credentials.NewTLS(config)}, nil
}

// keyCredentials are those of Credentials. Their errors say what may be wrong.
type keyCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake implements credentials.TransportCredentials.
func (c keyCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("the node ends the TLS handshake; it may have no cluster key: %w", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("TLS with the cluster key: %w", err)
	}
	return conn, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c keyCredentials) Clone() credentials.TransportCredentials {
	return keyCredentials{c.TransportCredentials.Clone()}
}

// portCredentials are the server's side of a node's gRPC port.
type portCredentials struct {
	credentials.TransportCredentials // plain

	tls       credentials.TransportCredentials // nil without a cluster key and without certificates
	key       *tls.Config                      // nil without a cluster key
	callers   *Certificates                    // nil: callers speak plainly
	refuser   *plainRefuser                    // nil: likewise
	refused   *prometheus.CounterVec           // connections, by why
	undecided *undecided
}

// newPortCredentials starts the refuser of plain text, if there are certificates, which the server is to stop.
func newPortCredentials(k *key.Key, callers *Certificates, refused *prometheus.CounterVec) (portCredentials, error) {
	c := portCredentials{
		TransportCredentials: insecure.NewCredentials(), callers: callers, refused: refused, undecided: newUndecided(),
	}
	if k != nil {
		config, err := k.TLS()
		if err != nil {
			return c, fmt.Errorf("cluster key: %w", err)
		}
		c.key, c.tls = config, credentials.NewTLS(config)
	}
	if callers != nil {
		c.tls = credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true, GetConfigForClient: c.asked,
		})
		c.refuser = newPlainRefuser()
	}
	return c, nil
}

// asked is what a client's hello asks for.
func (c portCredentials) asked(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if c.key != nil && hello.ServerName == c.key.ServerName {
		return c.key, nil
	}
	return c.callers.ofCallers(), nil
}

// ServerHandshake implements credentials.TransportCredentials. grpc bounds its time: handshakeWithin.
func (c portCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	of := bound.Of(raw)
	conn, info, err := c.handshake(raw, of)
	switch {
	case err == nil && of != nil:
		return newMeter(conn, of), info, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && of != nil:
		of.Cut(bound.Late)
	}
	return conn, info, err
}

// handshake finds out who is at the other end of a connection, which stands on of.
func (c portCredentials) handshake(raw net.Conn, of *bound.Conn) (net.Conn, credentials.AuthInfo, error) {
	if !c.undecided.add(raw) {
		return nil, nil, errStopping
	}
	defer c.undecided.remove(raw)
	conn := &peekedConn{Conn: raw}
	if _, err := io.ReadFull(raw, conn.first[:]); err != nil {
		return nil, nil, err // io.EOF is what grpc expects of somebody who only knocks
	}
	switch {
	case conn.first[0] != tlsRecord && c.refuser == nil:
		return c.TransportCredentials.ServerHandshake(conn)
	case conn.first[0] != tlsRecord:
		c.refused.WithLabelValues(refusedPlain).Inc()
		if of != nil {
			c.refuser.take(newMeter(conn, of))
		} else {
			c.refuser.take(conn)
		}
		return nil, nil, credentials.ErrConnDispatched
	case c.tls == nil:
		c.refused.WithLabelValues(refusedTLS).Inc()
		return nil, nil, errNoTLS
	}
	secured, info, err := c.tls.ServerHandshake(conn)
	if err != nil {
		c.refused.WithLabelValues(refusedTLS).Inc()
		return nil, nil, err
	}
	if c.proved(info) {
		prove(of, bound.Node)
		return secured, keyInfo{info}, nil
	}
	prove(of, bound.Caller)
	return secured, info, nil
}

// prove notes what the other end of a connection has proved.
func prove(of *bound.Conn, proof bound.Proof) {
	if of != nil {
		of.Prove(proof)
	}
}

// proved says whether the other side of a TLS connection has proved to have the cluster key.
func (c portCredentials) proved(info credentials.AuthInfo) bool {
	shown, ok := info.(credentials.TLSInfo)
	return ok && c.key != nil && c.key.VerifyConnection(shown.State) == nil
}

// Clone implements credentials.TransportCredentials.
func (c portCredentials) Clone() credentials.TransportCredentials { return c }

// undecided are connections that have not said yet what they want, or that want what they cannot have. A server that stops
// does not wait for them.
type undecided struct {
	mu    sync.Mutex
	conns map[net.Conn]bool // nil when the server has stopped
}

func newUndecided() *undecided { return &undecided{conns: map[net.Conn]bool{}} }

func (u *undecided) add(conn net.Conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conns == nil {
		return false
	}
	u.conns[conn] = true
	return true
}

func (u *undecided) remove(conn net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.conns, conn)
}

// hangUp closes them, and all that come later.
func (u *undecided) hangUp() {
	u.mu.Lock()
	conns := u.conns
	u.conns = nil
	u.mu.Unlock()
	for conn := range conns {
		_ = conn.Close() // nothing was said over it
	}
}

// A keyInfo says of a connection that the caller has the cluster key.
type keyInfo struct{ credentials.AuthInfo }

// hasKey says whether the caller of a call has the cluster key.
func hasKey(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	_, ok = p.AuthInfo.(keyInfo)
	return ok
}

// A peekedConn is a connection whose first byte has been read, and comes once more.
type peekedConn struct {
	net.Conn
	first [1]byte
	given bool
}

// Read implements net.Conn.
func (c *peekedConn) Read(b []byte) (int, error) {
	if c.given || len(b) == 0 {
		return c.Conn.Read(b)
	}
	b[0], c.given = c.first[0], true
	return 1, nil
}
