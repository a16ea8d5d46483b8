// Package metering meters exchanges with language models: it keeps what was held for a request while its answer goes on, reads what the
// answer has used, and settles the holds by that.
//
//	Begin ─ AddHold, AddPermit ─┬─ Release                      refused: all is given back
//	                            └─ Start ─┬─ Watch, Unanswered  the answer has ended, or there is none
//	                                      └─ (meanwhile)        holds and permits are extended before they end
//
// It promises that each exchange is settled once: by the usage of its answer, or else by the events of its stream, or else by its estimate;
// that a settlement outlives the request and is tried again until a node has taken it or [Meter] gives up, which it counts and logs; and that
// what waits is bounded. It knows nothing of routes and headers.
//
// Start with [Meter].
package metering

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
)

// Config says what a Meter is made of.
type Config struct {
	// Memory gets a record of each exchange. Required.
	Memory *denial.Memory
	// Logger logs what could not be settled, and exchanges; nil discards that.
	Logger *slog.Logger
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Tracer makes a span for each settlement; nil makes none.
	Tracer trace.Tracer
	// Now is the time of records; nil means time.Now.
	Now func() time.Time
}

// A Cluster is where something is held, and so where it is settled. One that does not answer holds up no other.
type Cluster struct {
	queue    *queue
	checker  limit.Checker
	settler  limit.Settler  // nil: holds cannot be settled
	returner limit.Returner // nil: permits cannot be returned
}

// Cluster is that of a checker, which extends permits. It must be a [limit.Settler] to settle holds, and a [limit.Returner] to return
// permits.
func (m *Meter) Cluster(checker limit.Checker) *Cluster {
	c := &Cluster{checker: checker, queue: newQueue()}
	c.settler, _ = checker.(limit.Settler)
	c.returner, _ = checker.(limit.Returner)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters = append(m.clusters, c)
	return c
}

// A Meter meters the exchanges of a gateway. It is safe for concurrent use.
type Meter struct {
	memory  *denial.Memory
	log     *slog.Logger
	tracer  trace.Tracer
	now     func() time.Time
	metrics *metrics

	mu       sync.Mutex
	routes   map[string]*Route
	clusters []*Cluster
}

// New makes a Meter, which is to be closed.
func New(cfg Config) (*Meter, error) {
	if cfg.Memory == nil {
		return nil, errors.New("metering: Config needs a Memory")
	}
	m := &Meter{
		memory: cfg.Memory, log: cfg.Logger, tracer: cfg.Tracer, now: cfg.Now,
		metrics: newMetrics(), routes: map[string]*Route{},
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now
	}
	if err := m.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	return m, nil
}

// Route is the series of a route, by its name. It is to be looked up once.
func (m *Meter) Route(name string) *Route {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.routes[name]
	if r == nil {
		r = m.metrics.route(name)
		m.routes[name] = r
	}
	return r
}

// Close waits up to five seconds for the settlements that are under way, and gives the rest up: those holds last until they expire. It is
// to be called when no more requests come.
func (m *Meter) Close() {
	m.mu.Lock()
	clusters := m.clusters
	m.mu.Unlock()
	var closing sync.WaitGroup
	for _, c := range clusters {
		closing.Go(c.queue.close)
	}
	closing.Wait()
}
