package gateway

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jeton-dev/jeton/gateway/config"
)

// copySize is how much of an answer is copied at a time.
const copySize = 32 << 10

// An upstream is one service behind the proxy: instances that are asked in turns.
type upstream struct {
	name      string
	config    config.Upstream
	instances []*instance // one whose URL is there twice is asked twice as often
	turn      atomic.Uint32
	proxy     *httputil.ReverseProxy
	log       *slog.Logger
}

func (g *Gateway) openUpstream(name string, c config.Upstream) (*upstream, error) {
	u := &upstream{name: name, config: c, log: g.log}
	for i, text := range c.URLs {
		if first := slices.Index(c.URLs, text); first < i {
			u.instances = append(u.instances, u.instances[first])
			continue
		}
		at, err := newInstance(text, &c)
		if err != nil {
			return nil, fmt.Errorf("proxy.upstreams.%s: %w", name, err)
		}
		at.presence.log = g.log.With("upstream", name, "url", text)
		at.presence.lost = g.metrics.lost.WithLabelValues(name, text)
		u.instances = append(u.instances, at)
	}
	u.proxy = u.newProxy()
	return u, nil
}

// close gives up connections that rest, and ends the probing. What is under way goes on.
func (u *upstream) close() {
	for _, at := range u.instances {
		at.close()
	}
}

// connected says whether an instance that is up holds a connection: a request is sure to be sent somewhere.
func (u *upstream) connected() bool {
	return slices.ContainsFunc(u.instances, func(at *instance) bool { return at.connections.Load() > 0 && !at.presence.away.Load() })
}

// inTurn are the instances in the order in which a request tries them, each once: those that are up, beginning with the one
// whose turn it is, and then those that are away, for one of them may be back.
func (u *upstream) inTurn() []*instance {
	turn := int(u.turn.Add(1) % (1 << 16))
	order := make([]*instance, 0, len(u.instances))
	var away []*instance
	for i := range u.instances {
		at := u.instances[(turn+i)%len(u.instances)]
		switch {
		case slices.Contains(order, at) || slices.Contains(away, at):
		case at.presence.away.Load():
			away = append(away, at)
		default:
			order = append(order, at)
		}
	}
	return append(order, away...)
}

// RoundTrip implements [http.RoundTripper]. A request that no connection could be had for has not been sent, nor has its body
// been read: it goes to the next instance. One that has been sent goes to no other.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer *http.Response
	var err error
	for _, at := range u.inTurn() {
		body := &offer{body: r.Body}
		answer, err = at.roundTrip(u.addressed(r, at, body))
		if _, unsent := errors.AsType[*connectError](err); !unsent || !body.whole() || r.Context().Err() != nil {
			break
		}
	}
	return answer, err
}

// addressed is a request as an instance gets it.
func (u *upstream) addressed(r *http.Request, at *instance, body *offer) *http.Request {
	out, to := r.WithContext(r.Context()), *r.URL
	to.Scheme, to.Host = at.url.Scheme, at.url.Host
	out.URL = &to
	if !u.config.KeepHost {
		out.Host = at.url.Host
	}
	if r.Body != nil && r.Body != http.NoBody {
		out.Body = body
	}
	return out
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
