// Package gateway is the HTTP edge of jeton, which stands in front of an API: it finds out who is asking and which limits
// apply, asks the cluster, and lets a request through or answers 429, telling the client all it needs to behave. It counts
// nothing by itself while the cluster answers.
//
// Start with [New]. A [Gateway] has several faces on one core:
//
//	Gateway.Proxy          a reverse proxy                   ─┐
//	Gateway.ForwardAuth    what nginx, Caddy and others ask  ─┼─▶ decide ─▶ fallback ─▶ limit.Checker
//	Middleware             around an http.Handler            ─┤              a client of the cluster, or a node that
//	UnaryInterceptor,      around a gRPC service             ─┘              the program embeds
//	StreamInterceptor
//
// The path of one request:
//
//	face ─▶ is there room, in all and for this client? ─▶ read strictly ─▶ route ─▶ exempt, or on a deny list? ─▶ who is asking: keys ─▶ limits and cost of each check
//	     ─▶ the cluster decides within 50 ms ─┬─ admitted ──▶ limit headers, and on to whom it was meant for
//	        (else allow, deny, local bucket)  │             whose answer may cost nothing: then it is given back
//	                                          └─ denied ────▶ what earlier checks took is given back; remembered; 429
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// Config says what a Gateway is made of.
type Config struct {
	// Document says what it does. Required.
	Document *config.Document
	// Checker decides: a client of the cluster, or an embedded node. Required. What an earlier check of a request took is
	// given back only if it is a [limit.Returner] too.
	Checker limit.Checker
	// Limits are those in force, nil while they are not known: they say what headers tell of the refill, and what happens
	// when no decision can be had. Required.
	Limits func() *limit.Document
	// Logger gets decisions, as the document says, and what is wrong; nil discards them.
	Logger *slog.Logger
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Tracer makes a span of every decision; nil makes none.
	Tracer trace.TracerProvider
	// Now is the time; nil means time.Now.
	Now func() time.Time
}

// A Gateway decides which requests pass. It is safe for concurrent use.
type Gateway struct {
	checker limit.Checker
	limits  func() *limit.Document
	log     *slog.Logger
	metrics *metrics
	tracer  trace.Tracer // nil for none
	now     func() time.Time
	memory  *denial.Memory

	registerer prometheus.Registerer // nil for none

	inFlight atomic.Int64
	crowd    *crowd                // those in flight, by client
	rules    atomic.Pointer[rules] // replaced whole by Load
	visits   visits
	shadows  shadows

	loading sync.Mutex // held by Load and Close
	closed  bool
}

// New makes a Gateway, which is to be closed. The error says what is missing in cfg or wrong in its document.
func New(cfg Config) (*Gateway, error) {
	if cfg.Document == nil || cfg.Checker == nil || cfg.Limits == nil {
		return nil, errors.New("gateway: no document to go by, nobody to ask, or no limits to know")
	}
	g := &Gateway{
		checker: cfg.Checker, limits: cfg.Limits, log: cfg.Logger, now: cfg.Now, metrics: newMetrics(),
		registerer: cfg.Registerer, crowd: newCrowd(),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	if cfg.Tracer != nil {
		g.tracer = cfg.Tracer.Tracer(tracerName)
	}
	g.memory = denial.NewMemory(cfg.Document.GatewayName(), 0)
	g.shadows.init()
	if err := g.Load(cfg.Document); err != nil {
		return nil, err
	}
	if err := g.metrics.register(cfg.Registerer, g); err != nil {
		g.Close()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return g, nil
}

// Load puts another document in force, all of it or nothing: requests that are under way end by the old one. The error
// says what is wrong with it. The gateway keeps its name.
func (g *Gateway) Load(d *config.Document) error {
	g.loading.Lock()
	defer g.loading.Unlock()
	if g.closed {
		return errors.New("gateway: it is closed")
	}
	old := g.rules.Load()
	next, err := g.compile(d, old)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	g.rules.Store(next)
	old.retire(next)
	return nil
}

// Close ends what runs in the background: shadow checks, what is being given back, keys that are being read again, probes of
// instances that are away. It is to be called when no more requests come.
func (g *Gateway) Close() {
	g.loading.Lock()
	defer g.loading.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	g.shadows.close()
	g.rules.Load().retire(nil)
}

// NoteLimits remembers the limits in force, for when one of them is gone. Requests do so; it is for a gateway that has none.
func (g *Gateway) NoteLimits() { g.rules.Load().guard.Note() }

// KeySets are those of the document in force that are read from URLs.
func (g *Gateway) KeySets() []identity.KeySet { return g.rules.Load().finder.KeySets() }

// An UpstreamState is an upstream of the document in force, with what is wrong with its instances.
type UpstreamState struct {
	Name string
	// Away are those that take no connections.
	Away []InstanceAway
	// Misnamed are those that take connections and speak something else than their URLs say, each in words.
	Misnamed []string
	// Silent are those that take connections and have not answered the last requests in time.
	Silent []InstanceSilent
}

// An InstanceAway is an instance that takes no connections: since when, and why.
type InstanceAway struct {
	URL   string
	Since time.Time
	Why   error
}

// An InstanceSilent is an instance that answers nothing: since when, and how many requests.
type InstanceSilent struct {
	URL      string
	Since    time.Time
	Requests int
}

// Upstreams are those of the document in force, by their names.
func (g *Gateway) Upstreams() []UpstreamState {
	var all []UpstreamState
	for _, u := range g.rules.Load().upstreams {
		s := UpstreamState{Name: u.name}
		for i, at := range u.instances {
			if slices.Index(u.instances, at) < i {
				continue
			}
			if since, why := at.presence.gone(); why != nil {
				s.Away = append(s.Away, InstanceAway{at.name, since, why})
			} else if why := at.misnamed(); why != "" {
				s.Misnamed = append(s.Misnamed, why)
			} else if since, requests := at.silence.lasts(time.Now()); requests > 0 {
				s.Silent = append(s.Silent, InstanceSilent{at.name, since, requests})
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b UpstreamState) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Denials are the newest requests that were refused.
func (g *Gateway) Denials() *denial.Memory { return g.memory }

// A place is that of one request among those under way.
type place struct {
	gateway *Gateway
	client  netip.Prefix
}

// enter begins a request, if there is room for one more: in all, and for its client, whose address is found as for {ip}. peer is
// the connection's other end. That is all that is done before there is room. Whoever entered, which is told by the outcome
// admitted, leaves; any other outcome is that of the request.
func (g *Gateway) enter(r *rules, peer netip.Addr, h http.Header) (place, outcome) {
	p := place{g, r.finder.Origin(peer, h)}
	if g.inFlight.Add(1) > r.mostInFlight {
		g.inFlight.Add(-1)
		return place{}, overloaded
	}
	if !g.crowd.enter(p.client, r.mostOfClient) {
		g.inFlight.Add(-1)
		return place{}, crowded
	}
	return p, admitted
}

func (p place) leave() {
	p.gateway.crowd.leave(p.client)
	p.gateway.inFlight.Add(-1)
}

// newGuard makes what stands between the gateway and whoever decides, with its metrics. It keeps local buckets, so another
// document that says the same of it keeps it.
func (g *Gateway) newGuard(c config.Cluster, old *rules) (*fallback.Guard, *prometheus.Registry, error) {
	if old != nil && old.document.Cluster.Sharers() == c.Sharers() && old.document.Cluster.Budget() == c.Budget() {
		return old.guard, old.guardMetrics, nil
	}
	registry := prometheus.NewRegistry()
	var before *fallback.Guard
	if old != nil {
		before = old.guard
	}
	guard, err := fallback.New(fallback.Config{
		Before: before, Checker: g.checker, Limits: g.limits, Gateways: c.Sharers(), Within: c.Budget(), Registerer: registry, Logger: g.log,
	})
	return guard, registry, err
}

// background is ctx without its end: for what goes on when the request is over.
func background(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
