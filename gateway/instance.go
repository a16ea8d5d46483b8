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
	// pongWithin is how long an instance may take to answer a ping of HTTP/2, which it gets when it has sent nothing for keepAlive.
	pongWithin = 15 * time.Second
)

// An instance is one address of an upstream, with the connections to it.
type instance struct {
	name     string   // its URL as the document has it
	url      *url.URL // of http or https
	address  string   // host:port
	within   time.Duration
	tls      *tls.Config     // nil for plain text
	speaks   dialect         // as the URL says
	requests *http.Transport // speaks what the URL says
	upgrades *http.Transport // speaks HTTP/1.1: there are no upgrades, as to a WebSocket, in what net/http speaks of HTTP/2
	presence presence
	hello    hello
	silence  silence

	connections atomic.Int64            // that are open
	foreign     atomic.Pointer[dialect] // that it spoke last instead of what its URL says; nil for none
	familiar    atomic.Int64            // when it spoke what its URL says last, in nanoseconds of Unix; 0 for never
}

// newInstance makes the instance at a URL of an upstream.
func newInstance(text string, c *config.Upstream) (*instance, error) {
	at, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	i := &instance{name: text, url: at, within: c.ConnectTimeout()}
	port, speaks, http1 := "80", new(http.Protocols), new(http.Protocols)
	http1.SetHTTP1(true)
	switch at.Scheme {
	case config.H2C:
		at.Scheme = "http" // what net/http calls it
		speaks.SetUnencryptedHTTP2(true)
		i.speaks = plainHTTP2
	case "https":
		port, i.speaks = "443", overTLS
		speaks.SetHTTP1(true)
		speaks.SetHTTP2(true)
		if i.tls, err = clientTLS(at.Hostname(), c.TLS); err != nil {
			return nil, err
		}
	default:
		speaks, i.speaks = http1, plainHTTP1
	}
	i.address = net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), port))
	i.requests, i.upgrades = i.transport(c, speaks), i.transport(c, http1)
	i.presence.probe = i.probe
	return i, nil
}

// transport is one that speaks these protocols with the instance.
func (i *instance) transport(c *config.Upstream, speaks *http.Protocols) *http.Transport {
	secure := i.tls
	if secure != nil {
		secure = secure.Clone()
		if secure.NextProtos = []string{"http/1.1"}; speaks.HTTP2() {
			secure.NextProtos = []string{"h2", "http/1.1"} // the instance chooses
		}
	}
	wants := i.speaks
	if wants == plainHTTP2 && !speaks.UnencryptedHTTP2() { // an upgrade: the instance may do without
		wants = unheard
	}
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) { return i.connect(ctx, secure, wants) }
	return &http.Transport{
		DialContext: connect, DialTLSContext: connect, ResponseHeaderTimeout: c.RespondTimeout(),
		MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleFor, ExpectContinueTimeout: time.Second,
		Protocols: speaks, HTTP2: &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: pongWithin},
		DisableCompression: true, // what the client accepts is the client's business
	}
}

// roundTrip sends a request to the instance.
func (i *instance) roundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return i.upgrades.RoundTrip(r)
	}
	answer, err := i.requests.RoundTrip(r)
	if _, unsent := errors.AsType[*connectError](err); !unsent { // which is in words already
		if r.Context().Err() == nil {
			i.silence.tell(err, time.Now())
			i.suspect(err)
		}
		err = i.inWords(err)
	}
	return answer, err
}

// clientTLS is what an instance at a host is spoken to with.
func clientTLS(host string, c *config.UpstreamTLS) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if c == nil {
		return t, nil
	}
	t.ServerName = cmp.Or(c.ServerName, host)
	if c.CA.Given() {
		t.RootCAs = x509.NewCertPool()
		t.RootCAs.AppendCertsFromPEM(c.CA.Bytes()) // a document without any is not valid
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

// connect opens a connection, all of TLS included unless that is nil, and tells the presence what came of it. When ctx itself
// ends, that says nothing of the instance.
func (i *instance) connect(ctx context.Context, secure *tls.Config, wants dialect) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, i.within)
	defer cancel()
	conn, err := i.open(within, secure, wants)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil && refusesProtocol(err): // of an upgrade, which takes HTTP/1.1: it is there, and speaks something else
		return nil, err
	}
	err = i.inWords(err)
	i.presence.tell(err)
	if err != nil {
		return nil, &connectError{err}
	}
	return conn, nil
}

func (i *instance) open(ctx context.Context, secure *tls.Config, wants dialect) (net.Conn, error) {
	tcp, err := (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, "tcp", i.address)
	if err != nil {
		return nil, err
	}
	conn := &counted{Conn: tcp, open: &i.connections, begins: func(first []byte) { i.hear(first, wants) }}
	if secure == nil {
		conn.count()
		return conn, nil
	}
	over := tls.Client(conn, secure)
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // of no use to anybody
		return nil, &net.OpError{Op: "TLS handshake", Net: "tcp", Addr: conn.RemoteAddr(), Err: err}
	}
	conn.count()
	return over, nil
}

// counted is a connection that counts from when it can be used until it is closed, and tells how the other side begins.
type counted struct {
	net.Conn
	open   *atomic.Int64
	counts atomic.Bool
	begins func(first []byte) // nil once it was told; of whoever reads
}

// Read implements [net.Conn].
func (c *counted) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	if c.begins != nil && n > 0 {
		c.begins(b[:n])
		c.begins = nil
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

// refusesProtocol says whether the other side of TLS speaks none of the protocols that it was offered (RFC 7301, section 3.2).
// crypto/tls has no type of its own for what the other side alerts.
func refusesProtocol(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && strings.HasSuffix(remote.Error(), "tls: no application protocol")
}

// probe finds out whether a connection can be had, and lets go of it.
func (i *instance) probe(ctx context.Context) error {
	conn, err := i.connect(ctx, i.tls, i.speaks)
	if err == nil {
		_ = conn.Close() // it was only looked at
	}
	return err
}

// close gives up connections that rest, and the probing and asking. What is under way goes on.
func (i *instance) close() {
	i.presence.close()
	i.hello.close()
	i.requests.CloseIdleConnections()
	i.upgrades.CloseIdleConnections()
}

// An offer is the body of a request as one instance is offered it. A transport that had no connection closes it unread: then
// it is still whole, and can be offered to the next instance. Whoever made the body closes it at the end.
type offer struct {
	body io.ReadCloser // nil for none

	mu           sync.Mutex
	read, closed bool
}

// Read implements [io.Reader].
func (o *offer) Read(b []byte) (int, error) {
	o.mu.Lock()
	closed := o.closed
	o.read = o.read || !closed
	o.mu.Unlock()
	if closed {
		return 0, errors.New("the body was closed before it was read")
	}
	return o.body.Read(b)
}

// Close implements [io.Closer].
func (o *offer) Close() error {
	o.mu.Lock()
	o.closed = true
	read := o.read
	o.mu.Unlock()
	if !read {
		return nil
	}
	return o.body.Close()
}

// whole says whether nothing of the body was taken.
func (o *offer) whole() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.read
}
