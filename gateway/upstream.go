package gateway

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
)

const (
	// idleConns are kept to an instance of an upstream, and idleFor is how long.
	idleConns = 256
	idleFor   = 90 * time.Second
	// avoidFor is how long an instance that refused a connection is not asked while there are others.
	avoidFor = time.Second
	// copySize is how much of an answer is copied at a time.
	copySize = 32 << 10
)

// An upstream is one service behind the proxy: instances that are asked in turns.
type upstream struct {
	name      string
	config    config.Upstream
	instances []*instance
	turn      atomic.Uint32
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	log       *slog.Logger
	now       func() time.Time
}

// An instance is one address of an upstream.
type instance struct {
	url   *url.URL
	avoid atomic.Int64 // until when, in nanoseconds since the Unix epoch
}

func (g *Gateway) openUpstream(name string, c config.Upstream) (*upstream, error) {
	u := &upstream{name: name, config: c, log: g.log, now: g.now}
	for _, text := range c.URLs {
		at, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("proxy.upstreams.%s.urls: %w", name, err)
		}
		u.instances = append(u.instances, &instance{url: at})
	}
	dialer := &net.Dialer{Timeout: c.ConnectTimeout(), KeepAlive: 30 * time.Second}
	u.transport = &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: c.ConnectTimeout(), ResponseHeaderTimeout: c.RespondTimeout(),
		MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleFor, ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2: true, DisableCompression: true, // what the client accepts is the client's business
	}
	u.proxy = u.newProxy()
	return u, nil
}

// close gives up connections that rest. What is under way goes on.
func (u *upstream) close() { u.transport.CloseIdleConnections() }

// next is the address of the instance whose turn it is, past those that just refused a connection.
func (u *upstream) next() *url.URL {
	turn, now := int(u.turn.Add(1)%(1<<16)), u.now().UnixNano()
	for i := range u.instances {
		if at := u.instances[(turn+i)%len(u.instances)]; at.avoid.Load() <= now {
			return at.url
		}
	}
	return u.instances[turn%len(u.instances)].url
}

// RoundTrip implements [http.RoundTripper]. A request that no connection could be had for has not been sent: if it has no
// body, it goes to the other instances.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := u.transport.RoundTrip(r)
	if err == nil || !unconnected(err) {
		return answer, err
	}
	first := r.URL.Host
	u.avoid(first)
	if r.Body != nil && r.Body != http.NoBody {
		return nil, err
	}
	for _, at := range u.instances {
		if at.url.Host == first || r.Context().Err() != nil {
			continue
		}
		again := r.Clone(r.Context())
		again.URL.Scheme, again.URL.Host = at.url.Scheme, at.url.Host
		if !u.config.KeepHost {
			again.Host = at.url.Host
		}
		if answer, err = u.transport.RoundTrip(again); err == nil || !unconnected(err) {
			return answer, err
		}
		u.avoid(at.url.Host)
	}
	return nil, err
}

// unconnected says whether an error means that there was no connection.
func unconnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !errors.Is(err, context.Canceled)
}

func (u *upstream) avoid(host string) {
	until := u.now().Add(avoidFor).UnixNano()
	for _, at := range u.instances {
		if at.url.Host == host {
			at.avoid.Store(until)
		}
	}
}

// buffers are what answers are copied through.
type buffers struct{ pool sync.Pool }

// Get implements [httputil.BufferPool].
func (b *buffers) Get() []byte {
	if at, ok := b.pool.Get().(*[copySize]byte); ok {
		return at[:]
	}
	return make([]byte, copySize)
}

// Put implements [httputil.BufferPool].
func (b *buffers) Put(buffer []byte) { b.pool.Put((*[copySize]byte)(buffer)) }

// stdLog is a logger for those of the standard library that want one of its kind.
func stdLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelWarn) }
