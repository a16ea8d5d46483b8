package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/config"
)

// An upstream is one service behind the proxy: instances that get requests in turns.
type upstream struct {
	name      string
	config    config.Upstream
	instances []*instance // one whose URL is listed twice gets twice as many requests
	turn      atomic.Uint32
}

// openUpstream makes an upstream. downs counts, by upstream and URL, how often an instance went down.
func openUpstream(name string, c config.Upstream, log *slog.Logger, downs *prometheus.CounterVec) (*upstream, error) {
	u := &upstream{name: name, config: c}
	for i, text := range c.URLs {
		if first := slices.Index(c.URLs, text); first < i {
			u.instances = append(u.instances, u.instances[first])
			continue
		}
		at, err := newInstance(text, &c)
		if err != nil {
			return nil, fmt.Errorf("proxy.upstreams.%s: %w", name, err)
		}
		at.availability.log = log.With("upstream", name, "url", text)
		at.protocol.log = at.availability.log
		at.availability.downs = downs.WithLabelValues(name, text)
		u.instances = append(u.instances, at)
	}
	return u, nil
}

// close closes idle connections, and ends the probes. Requests that are under way go on.
func (u *upstream) close() {
	for _, at := range u.instances {
		at.close()
	}
}

// connected reports whether an instance that is up has an open connection: then a request is sure to be sent.
func (u *upstream) connected() bool {
	return slices.ContainsFunc(u.instances, func(at *instance) bool { return at.connections.Load() > 0 && !at.availability.down.Load() })
}

// roundTrip sends a request to an instance. If there was no connection, and so nothing was sent or read of the body, it tries the
// next instance. A request that may have been sent is not sent again.
func (u *upstream) roundTrip(r *http.Request) (*http.Response, error) {
	var answer *http.Response
	var err error
	for _, at := range u.inTurn() {
		body := &instanceBody{body: r.Body}
		answer, err = at.roundTrip(u.addressed(r, at, body))
		if _, unsent := errors.AsType[*connectError](err); !unsent || !body.unread() || r.Context().Err() != nil {
			break
		}
	}
	return answer, err
}

// inTurn are the instances in the order in which a request tries them, each once: those that are up, starting with the one
// whose turn it is, and then those that are down, as one of them may be up again.
func (u *upstream) inTurn() []*instance {
	turn := int(u.turn.Add(1) % (1 << 16))
	order := make([]*instance, 0, len(u.instances))
	var down []*instance
	for i := range u.instances {
		at := u.instances[(turn+i)%len(u.instances)]
		switch {
		case slices.Contains(order, at) || slices.Contains(down, at):
		case at.availability.down.Load():
			down = append(down, at)
		default:
			order = append(order, at)
		}
	}
	return append(order, down...)
}

// addressed is a request as an instance gets it.
func (u *upstream) addressed(r *http.Request, at *instance, body *instanceBody) *http.Request {
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

// An UpstreamState is an upstream of the document in force, with what is wrong with its instances.
type UpstreamState struct {
	Name string
	// Down are those that accept no connections.
	Down []InstanceDown
	// WrongProtocol are those that accept connections and speak another protocol than their URLs say, each as a sentence.
	WrongProtocol []string
	// Unresponsive are those that accept connections and have not answered the last requests in time.
	Unresponsive []InstanceUnresponsive
}

// An InstanceDown is an instance that accepts no connections: since when, and why.
type InstanceDown struct {
	URL   string
	Since time.Time
	Why   error
}

// An InstanceUnresponsive is an instance that answers nothing: since when, and how many requests.
type InstanceUnresponsive struct {
	URL      string
	Since    time.Time
	Requests int
}

// distinct are the instances, each once.
func (u *upstream) distinct() []*instance {
	var list []*instance
	for _, at := range u.instances {
		if !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// state is what is wrong with the instances.
func (u *upstream) state() UpstreamState {
	s := UpstreamState{Name: u.name}
	for _, at := range u.distinct() {
		if since, why := at.availability.status(); why != nil {
			s.Down = append(s.Down, InstanceDown{at.name, since, why})
		} else if why := at.protocol.mismatch(); why != "" {
			s.WrongProtocol = append(s.WrongProtocol, why)
		} else if since, requests := at.responsiveness.status(time.Now()); requests > 0 {
			s.Unresponsive = append(s.Unresponsive, InstanceUnresponsive{at.name, since, requests})
		}
	}
	return s
}

var upDesc = prometheus.NewDesc("jeton_gateway_upstream_up",
	"1 while an instance of an upstream accepts connections, 0 from the first failed attempt to connect until one succeeds.",
	[]string{"upstream", "url"}, nil)

// collect says of each instance whether it is up.
func (u *upstream) collect(to chan<- prometheus.Metric) {
	for _, at := range u.distinct() {
		up := 1.0
		if at.availability.down.Load() {
			up = 0
		}
		to <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, up, u.name, at.name)
	}
}

// copySize is how much of an answer is copied at a time.
const copySize = 32 << 10

// buffers are reused to copy answers.
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
