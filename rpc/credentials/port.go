package credentials

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// tlsRecord is the first byte of a TLS handshake. HTTP/2 begins with "PRI".
const tlsRecord = 0x16

// errNoTLS refuses TLS at a node that has nothing to show.
var errNoTLS = errors.New("the client uses TLS, but this node has no cluster key and no certificate: give it --cluster-key-file, or --tls-cert, --tls-key and --tls-ca")

// PortConfig says by what a Port knows callers.
type PortConfig struct {
	// Key is the cluster key; nil for none.
	Key *key.Key
	// Certificates make callers without the key show a certificate, and plain text is refused; nil takes plain text.
	Certificates *Certificates
	// Callers is how callers are spoken to in place of Certificates, as it is in force at each handshake; nil for Certificates.
	Callers func() (*tls.Config, error)
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// A Port is the server's side of a node's gRPC port. It serves all kinds of clients: callers speak plain HTTP/2, or TLS in which both
// sides show a certificate of an authority; nodes and operators speak it within TLS in which both sides prove that they have the
// cluster key. The first byte of a connection tells plain text from TLS, and the name that the hello asks for says which TLS:
//
//	accept ─▶ first byte ─┬─ 0x16, a TLS record ─▶ hello ─┬─ asks for the cluster key ─▶ handshake with the key ──┐
//	                      │                               └─ anything else ──▶ handshake with the certificates ──┤
//	                      │                        jeton.v1.Peer and all of Admin too ◀── proved to have the key ┤
//	                      │                        what needs no key ◀── has a certificate of the authorities ───┘
//	                      └─ anything else ──▶ plain ─▶ what needs no key; with certificates, nothing at all
//
// What a caller may do depends on what it has proved and not on what it has asked for. A node without certificates takes
// every TLS for that of the cluster key.
//
// Nodes have no port of their own for two reasons. A node in a cluster listens on four ports already: a fifth would be one more to
// choose, to open in every firewall and to advertise. And operators with the cluster key call jeton.v1.Admin where clients call
// jeton.v1.Limiter, so this port would have to tell the two kinds of TLS apart all the same.
type Port struct {
	credentials.TransportCredentials // plain

	tls     credentials.TransportCredentials // nil without a cluster key and without certificates
	holders *key.Key                         // the cluster key; nil for none
	key     *tls.Config                      // nil without a cluster key
	callers func() (*tls.Config, error)      // nil: callers speak plainly
	refuser *plainRefuser                    // nil: likewise
	refused *prometheus.CounterVec           // connections, by why
	pending *pending
}

// NewPort makes a Port, which is to be stopped. The error says why the metrics cannot be registered.
func NewPort(cfg PortConfig) (*Port, error) {
	p := &Port{
		TransportCredentials: insecure.NewCredentials(), callers: cfg.Callers, refused: newRefused(), pending: newPending(),
	}
	if cfg.Key != nil {
		p.holders, p.key = cfg.Key, cfg.Key.TLS()
		p.tls = credentials.NewTLS(p.key)
	}
	if err := metrics.Register(cfg.Registerer, p.refused); err != nil {
		return nil, err
	}
	if cfg.Certificates != nil {
		p.callers = func() (*tls.Config, error) { return cfg.Certificates.ofCallers(), nil }
	}
	if p.callers != nil {
		p.tls = credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true, GetConfigForClient: p.choose,
		})
		p.refuser = newPlainRefuser()
	}
	return p, nil
}

// Stop closes connections whose handshake is not finished, and those in plain text that are refused. It returns when no goroutine of
// the Port is left. It must be called once.
func (p *Port) Stop() {
	p.pending.closeAll()
	if p.refuser != nil {
		p.refuser.stop()
	}
}

// choose picks the handshake by what a client's hello asks for.
func (p *Port) choose(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if p.key != nil && hello.ServerName == p.key.ServerName {
		return p.key, nil
	}
	return p.callers()
}

// ServerHandshake implements credentials.TransportCredentials. grpc bounds its time by HandshakeWithin.
func (p *Port) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	of := bound.Of(raw)
	conn, info, err := p.handshake(raw, of)
	switch {
	case err == nil && of != nil:
		return transport.Metered(conn, of), info, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && of != nil:
		of.Cut(bound.Late)
	}
	return conn, info, err
}

// handshake finds out who is at the other end of a connection, which stands on of.
func (p *Port) handshake(raw net.Conn, of *bound.Conn) (net.Conn, credentials.AuthInfo, error) {
	if !p.pending.add(raw) {
		return nil, nil, transport.ErrStopping
	}
	defer p.pending.remove(raw)
	conn := &peekedConn{Conn: raw}
	if _, err := io.ReadFull(raw, conn.first[:]); err != nil {
		return nil, nil, err // io.EOF is what grpc expects of a client that connects and sends nothing
	}
	switch {
	case conn.first[0] != tlsRecord && p.refuser == nil:
		return p.TransportCredentials.ServerHandshake(conn)
	case conn.first[0] != tlsRecord:
		p.refused.WithLabelValues(refusedPlain).Inc()
		if of != nil {
			p.refuser.take(transport.Metered(conn, of))
		} else {
			p.refuser.take(conn)
		}
		return nil, nil, credentials.ErrConnDispatched
	case p.tls == nil:
		p.refused.WithLabelValues(refusedTLS).Inc()
		return nil, nil, errNoTLS
	}
	secured, info, err := p.tls.ServerHandshake(conn)
	if err != nil {
		p.refused.WithLabelValues(refusedTLS).Inc()
		return nil, nil, err
	}
	shown, ok := info.(credentials.TLSInfo)
	switch {
	case ok && p.holders != nil && p.holders.Proves(shown.State):
		prove(of, bound.Node)
		return p.holders.Hold(secured, raw, shown.State), keyInfo{info}, nil
	case p.key != nil && (p.callers == nil || shown.State.ServerName == p.key.ServerName):
		// What it has shown was dropped during the handshake. It is no certificate of the authorities either.
		p.refused.WithLabelValues(refusedTLS).Inc()
		return nil, nil, errors.Join(key.ErrOtherKey, secured.Close())
	}
	if ok && len(shown.State.PeerCertificates) > 0 {
		prove(of, bound.Caller)
	}
	return secured, info, nil
}

// prove notes what the other end of a connection has proved.
func prove(of *bound.Conn, proof bound.Proof) {
	if of != nil {
		of.Prove(proof)
	}
}

// Clone implements credentials.TransportCredentials.
func (p *Port) Clone() credentials.TransportCredentials { return p }

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
