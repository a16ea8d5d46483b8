package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
)

const (
	// idleConns are kept to an instance, and idleFor is how long.
	idleConns = 256
	idleFor   = 90 * time.Second
	// keepAlive is how often TCP asks whether the other side is still there.
	keepAlive = 30 * time.Second
	// pongTimeout is how long an instance may take to answer a ping of HTTP/2, which it gets when it has sent nothing for keepAlive.
	pongTimeout = 15 * time.Second
)

// An instance is one address of an upstream, with the connections to it.
type instance struct {
	name     string   // its URL as the document has it
	url      *url.URL // of http or https
	address  string   // host:port
	timeout  time.Duration
	tls      *tls.Config     // nil for plain text
	requests *http.Transport // speaks the protocol of the URL
	upgrades *http.Transport // speaks HTTP/1.1: net/http has no upgrades, as to a WebSocket, in HTTP/2

	availability   availability
	protocol       protocolCheck
	responsiveness responsiveness
	connections    atomic.Int64 // open ones
}

// newInstance makes the instance at a URL of an upstream.
func newInstance(text string, c *config.Upstream) (*instance, error) {
	at, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	i := &instance{name: text, url: at, timeout: c.ConnectTimeout()}
	port, want, speaks, http1 := "80", speaksHTTP1, new(http.Protocols), new(http.Protocols)
	http1.SetHTTP1(true)
	switch at.Scheme {
	case config.H2C:
		at.Scheme = "http" // what net/http calls it
		speaks.SetUnencryptedHTTP2(true)
		want = speaksHTTP2
	case "https":
		port, want = "443", speaksTLS
		speaks.SetHTTP1(true)
		speaks.SetHTTP2(true)
		if i.tls, err = clientTLS(at.Hostname(), c.TLS); err != nil {
			return nil, err
		}
	default:
		speaks = http1
	}
	i.address = net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), port))
	i.protocol.url, i.protocol.address, i.protocol.want = text, i.address, want
	i.requests, i.upgrades = i.transport(c, speaks), i.transport(c, http1)
	i.availability.probe = i.probe
	return i, nil
}

// transport makes one that speaks these protocols with the instance.
func (i *instance) transport(c *config.Upstream, speaks *http.Protocols) *http.Transport {
	secure := i.tls
	if secure != nil {
		secure = secure.Clone()
		if secure.NextProtos = []string{"http/1.1"}; speaks.HTTP2() {
			secure.NextProtos = []string{"h2", "http/1.1"} // the instance chooses
		}
	}
	want := i.protocol.want
	if want == speaksHTTP2 && !speaks.UnencryptedHTTP2() { // an upgrade, which the instance need not support
		want = unknownProtocol
	}
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) { return i.connect(ctx, secure, want) }
	return &http.Transport{
		DialContext: connect, DialTLSContext: connect, ResponseHeaderTimeout: c.RespondTimeout(),
		MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleFor, ExpectContinueTimeout: time.Second,
		Protocols: speaks, HTTP2: &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: pongTimeout},
		DisableCompression: true, // the client and the service agree on it
	}
}

// roundTrip sends a request to the instance.
func (i *instance) roundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return i.upgrades.RoundTrip(r)
	}
	answer, err := i.requests.RoundTrip(r)
	if _, unsent := errors.AsType[*connectError](err); !unsent { // which is explained already
		if r.Context().Err() == nil {
			i.responsiveness.record(err, time.Now())
			i.protocol.failed(err)
		}
		err = i.protocol.explain(err)
	}
	return answer, err
}

// clientTLS configures TLS with an instance at a host.
func clientTLS(host string, c *config.UpstreamTLS) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if c == nil {
		return t, nil
	}
	t.ServerName = cmp.Or(c.ServerName, host)
	if c.CA.Given() {
		t.RootCAs = x509.NewCertPool()
		t.RootCAs.AppendCertsFromPEM(c.CA.Bytes()) // validated with the document
	}
	if c.Cert.Given() {
		own, err := tls.X509KeyPair(c.Cert.Bytes(), c.Key.Bytes())
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		t.Certificates = []tls.Certificate{own}
	}
	return t, nil
}

// A connectError says that there was no connection to an instance, so that nothing was sent to it.
type connectError struct{ error }

func (e *connectError) Unwrap() error { return e.error }

// connect opens a connection, with TLS unless secure is nil, and records the result. An error because ctx has ended says nothing
// about the instance.
func (i *instance) connect(ctx context.Context, secure *tls.Config, want protocol) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, i.timeout)
	defer cancel()
	conn, err := i.open(limited, secure, want)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil && refusesProtocol(err): // of an upgrade, which takes HTTP/1.1: the instance is up, and speaks something else
		return nil, err
	}
	err = i.protocol.explain(err)
	i.availability.record(err)
	if err != nil {
		return nil, &connectError{err}
	}
	return conn, nil
}

func (i *instance) open(ctx context.Context, secure *tls.Config, want protocol) (net.Conn, error) {
	tcp, err := (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, "tcp", i.address)
	if err != nil {
		return nil, err
	}
	conn := &counted{Conn: tcp, open: &i.connections, first: func(b []byte) { i.protocol.observe(b, want) }}
	if secure == nil {
		conn.count()
		return conn, nil
	}
	over := tls.Client(conn, secure)
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // of no use
		return nil, &net.OpError{Op: "TLS handshake", Net: "tcp", Addr: conn.RemoteAddr(), Err: err}
	}
	conn.count()
	return over, nil
}

// counted is a connection that is counted from when it can be used until it is closed, and passes on the first bytes that it reads.
type counted struct {
	net.Conn
	open   *atomic.Int64
	counts atomic.Bool
	first  func([]byte) // nil once it was called; of the goroutine that reads
}

// Read implements [net.Conn].
func (c *counted) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	if c.first != nil && n > 0 {
		c.first(b[:n])
		c.first = nil
	}
	return n, err
}

func (c *counted) count() {
	c.counts.Store(true)
	c.open.Add(1)
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	if c.counts.Swap(false) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// refusesProtocol reports whether the other side of TLS speaks none of the protocols that it was offered (RFC 7301, section 3.2).
// crypto/tls has no type of its own for alerts of the other side.
func refusesProtocol(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && strings.HasSuffix(remote.Error(), "tls: no application protocol")
}

// probe opens a connection and closes it.
func (i *instance) probe(ctx context.Context) error {
	conn, err := i.connect(ctx, i.tls, i.protocol.want)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// close closes idle connections and ends the probes. Requests that are under way go on.
func (i *instance) close() {
	i.availability.close()
	i.protocol.close()
	i.requests.CloseIdleConnections()
	i.upgrades.CloseIdleConnections()
}

// An instanceBody is the body of a request as one instance gets it. A transport that had no connection closes it unread: then it
// can be sent to the next instance. The owner of the body itself closes that at the end.
type instanceBody struct {
	body io.ReadCloser // nil for none

	mu           sync.Mutex
	read, closed bool
}

// Read implements [io.Reader].
func (b *instanceBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	closed := b.closed
	b.read = b.read || !closed
	b.mu.Unlock()
	if closed {
		return 0, errors.New("the body was closed before it was read")
	}
	return b.body.Read(p)
}

// Close implements [io.Closer].
func (b *instanceBody) Close() error {
	b.mu.Lock()
	b.closed = true
	read := b.read
	b.mu.Unlock()
	if !read {
		return nil
	}
	return b.body.Close()
}

// unread reports whether nothing of the body was read.
func (b *instanceBody) unread() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.read
}
