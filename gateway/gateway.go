// Package gateway is the HTTP edge of jeton, in front of an API: it finds out which client sent a request and which limits apply,
// asks the cluster, and lets the request through or answers 429, with the headers that a well-behaved client needs. While the
// cluster answers, the gateway counts nothing itself.
//
// Start with [New]. A [Gateway] has several handlers on one core:
//
//	Gateway.Proxy          a reverse proxy              proxy.go      ─┐
//	Gateway.ForwardAuth    asked by nginx, Caddy, …     forward.go    ─┼─▶ visit ─▶ fallback ─▶ limit.Checker
//	Middleware             around an http.Handler       middleware.go ─┤            a client of the cluster, or an
//	UnaryInterceptor,      around a gRPC service        grpc.go       ─┘            embedded node
//	StreamInterceptor
//
// The path of one request:
//
//	handler ─ take a slot: in all and for this client ─ visit.run ─┬─ passes ─▶ limit headers, and on to the service, whose answer
//	                                                               │            may cost nothing: then the charge is given back
//	                                                               └─ refused ▶ earlier checks are given back; remembered; 429
//
// To read the package, begin with visit.go, which has the steps of the decision in their order. Go on with result.go, which turns
// the decision into the answer, metrics, the log and the memory of denials, and with the handler that interests you. Requests to language
// models are in llmroute.go: the visit reads their body before the checks, which then hold an estimate in place of a cost.
//
// The package has some 4,100 lines, because its parts share one request. The handler tells the visit whether it will learn the
// status of the answer, and whether the request was sent. The visit asks the upstream for open connections before it decides
// whether the checks need receipts. The upstream's answer, or its failure, settles the charge that the visit leaves, and a failure
// is recorded under the route and the key that the visit found. A boundary between these parts would export most fields of visit
// and routeRules. What works without a visit is a package of its own:
//
//	accesslog  writes lines about requests
//	route      finds the route of a request
//	identity   finds the client of a request: address, token, API key
//	fallback   decides when the cluster does not
//	answer     writes headers and refusals
//	denial     remembers refusals, and exchanges with language models, for operators
//	llm        reads requests to language models and their answers
//	metering   keeps what is held for such a request, and settles it
//	config     reads and checks the document
//	keys       reads and edits files of API keys
package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/accesslog"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/metering"
)

// Config says what a Gateway is made of.
type Config struct {
	// Document says what it does. Required.
	Document *config.Document
	// Checker and Limits are the cluster that checks ask which name none: see [Cluster]. Required without Clusters.
	Checker limit.Checker
	Limits  func() *limit.Document
	// Clusters are further ones, which checks ask that name them: those of the document.
	Clusters map[string]Cluster
	// Logger gets decisions, as the document says, and problems; nil discards them.
	Logger *slog.Logger
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// AccessLog gets lines about requests, as the document says, in place of the Logger; nil for none.
	AccessLog *accesslog.Log
	// Tracer makes a span for each decision; nil makes none.
	Tracer trace.TracerProvider
	// Now is the time; nil means time.Now. What is decided without the cluster goes by differences of it: with a monotonic reading, as
	// time.Now has, these ignore corrections of the time of day.
	Now func() time.Time
}

// A Gateway decides which requests pass. It is safe for concurrent use.
type Gateway struct {
	clusters []*cluster // none of which ever changes
	log      *slog.Logger
	metrics  *metrics
	tracer   trace.Tracer   // nil for none
	access   *accesslog.Log // nil for none
	now      func() time.Time
	nanos    func() int64 // of the guards: see Config.Now
	memory   *denial.Memory
	repeats  *denial.Memory  // the newest denials that were repeated, in a ring of their own: one client would push all others out of that one
	meter    *metering.Meter // of exchanges with language models
	talks    *denial.Memory  // the newest of these, in a ring of their own as well

	registerer prometheus.Registerer // nil for none

	inFlight *inFlight
	bodies   *bodyMemory           // of requests to language models
	rules    atomic.Pointer[rules] // replaced as a whole by Load
	visits   sync.Pool             // of *visit, to be reused
	shadows  shadows

	loading sync.Mutex // held by Load and Close
	closed  bool
}

// New makes a Gateway, which is to be closed. The error says what is missing in cfg or wrong in its document.
func New(cfg Config) (*Gateway, error) {
	if cfg.Document == nil {
		return nil, errors.New("gateway: Config needs a Document")
	}
	clusters, err := cfg.clusters()
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		clusters: clusters, log: cfg.Logger, access: cfg.AccessLog, now: cfg.Now, metrics: newMetrics(),
		registerer: cfg.Registerer, inFlight: newInFlight(),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	start := g.now()
	g.nanos = func() int64 { return start.UnixNano() + int64(g.now().Sub(start)) }
	if cfg.Tracer != nil {
		g.tracer = cfg.Tracer.Tracer(tracerName)
	}
	g.bodies = newBodyMemory(g.metrics)
	g.memory = denial.NewMemory(cfg.Document.GatewayName(), 0)
	g.repeats = denial.NewMemory(cfg.Document.GatewayName(), 0)
	g.talks = denial.NewMemory(cfg.Document.GatewayName(), 0)
	g.shadows.init(g.log, g.metrics.dropped)
	if g.meter, err = metering.New(metering.Config{
		Memory: g.talks, Logger: g.log, Registerer: cfg.Registerer, Tracer: g.tracer, Now: g.now,
	}); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	for _, c := range g.clusters {
		c.holds = g.meter.Cluster(c.Checker)
	}
	if err := g.Load(cfg.Document); err != nil {
		return nil, err
	}
	if err := g.metrics.register(cfg.Registerer, g.inFlight, inForce{g}); err != nil {
		g.Close()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return g, nil
}

// Load puts another document in force, as a whole or not at all: requests under way end by the old one. The error says what is
// wrong with the document. The gateway keeps its name.
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

// Close ends what runs in the background: shadow checks, settlements and returns of tokens, reads of key sets, probes of instances. It waits
// for settlements for up to five seconds. It is to be called when no more requests come.
func (g *Gateway) Close() {
	g.loading.Lock()
	defer g.loading.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	g.shadows.close()
	g.meter.Close()
	g.rules.Load().retire(nil)
}

// NoteLimits remembers the limits in force, for when one of them is removed. Requests do so too; it is for a gateway without any.
func (g *Gateway) NoteLimits() {
	for _, guard := range g.rules.Load().guards {
		guard.Note()
	}
}

// KeySets are those of the document in force that are read from URLs.
func (g *Gateway) KeySets() []identity.KeySet { return g.rules.Load().finder.KeySets() }

// Upstreams are those of the document in force, by their names.
func (g *Gateway) Upstreams() []UpstreamState {
	var all []UpstreamState
	for _, u := range g.rules.Load().upstreams {
		all = append(all, u.state())
	}
	slices.SortFunc(all, func(a, b UpstreamState) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Denials are the newest requests that were refused, but for those whose denial was repeated.
func (g *Gateway) Denials() *denial.Memory { return g.memory }

// Recall is the denial, or the exchange with a language model, of that id. Its errors are those of [denial.Memory.Recall].
func (g *Gateway) Recall(id string) (*denial.Record, error) {
	if r, err := g.refusal(id); !errors.Is(err, denial.ErrForgotten) {
		return r, err
	}
	return g.talks.Recall(id)
}

// refusal is the refusal of that id.
func (g *Gateway) refusal(id string) (*denial.Record, error) {
	if r, err := g.memory.Recall(id); !errors.Is(err, denial.ErrForgotten) {
		return r, err
	}
	return g.repeats.Recall(id)
}

// inForce collects the metrics of the guards and of the upstreams in force; another document may make others.
type inForce struct{ *Gateway }

// Describe implements prometheus.Collector. What there is to collect changes, so it describes nothing.
func (inForce) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f inForce) Collect(to chan<- prometheus.Metric) {
	rules := f.rules.Load()
	for _, guard := range rules.guards {
		guard.metrics.Collect(to)
	}
	for _, u := range rules.upstreams {
		u.collect(to)
	}
}
