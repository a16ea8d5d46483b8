// Package gubernator is the door for clients of gubernator: the gRPC service pb.gubernator.V1 and the JSON of its gateway, answered
// from jeton's buckets. Each item of a request defines its limit, so each is a check by an inline limit, or by the stored limit of its
// name if there is one.
//
// What gubernator promises by windows that begin with the first hit holds: no key has more hits than the limit in any window of the
// duration, and so not in that one. An item without a decision has an error and no status. Start with [New].
package gubernator

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// Config says what a Door is made of. Only Limiter is required.
type Config struct {
	// Limiter decides.
	Limiter limit.Limiter
	// Limits are the stored limits in force; it returns nil while they are unknown. The zero value means that there are none.
	Limits func() *limit.Document
	// Ready says why the node decides nothing at present, and nil if it does. The zero value means that it always does.
	Ready func() error
	// Peers is how many nodes health checks tell of. The zero value means one.
	Peers func() int
	// KeepsBuckets refuses items with RESET_REMAINING: whoever may check could fill the buckets of others.
	KeepsBuckets bool
	// Advertise is the address that health checks tell of; it may be empty.
	Advertise string
	// Now is the clock by which the time of a reset is told; the zero value means time.Now.
	Now func() time.Time
	// Registerer receives the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger receives answers over HTTP that could not be written; nil discards them.
	Logger *slog.Logger
}

// A Door answers gubernator's clients. It is safe for concurrent use.
type Door struct{ service *service }

// New makes a Door.
func New(cfg Config) (*Door, error) {
	if cfg.Limiter == nil {
		return nil, errors.New("gubernator: Limiter is missing: give what decides")
	}
	if cfg.Limits == nil {
		cfg.Limits = func() *limit.Document { return nil }
	}
	if cfg.Ready == nil {
		cfg.Ready = func() error { return nil }
	}
	if cfg.Peers == nil {
		cfg.Peers = func() int { return 1 }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &service{
		decider: decider{limiter: cfg.Limiter, now: cfg.Now}, stored: cfg.Limits, keeps: cfg.KeepsBuckets, metrics: newDoorMetrics(),
		health: health{ready: cfg.Ready, peers: cfg.Peers, advertise: cfg.Advertise}, logger: cfg.Logger,
	}
	if err := metrics.Register(cfg.Registerer, s.metrics.collectors()...); err != nil {
		return nil, err
	}
	return &Door{service: s}, nil
}

// Register registers the service pb.gubernator.V1.
func (d *Door) Register(r grpc.ServiceRegistrar) { gubernatorpb.RegisterV1Server(r, d.service) }

// Handler serves the same as JSON: POST /v1/GetRateLimits, GET /v1/HealthCheck and GET /v1/LiveCheck.
func (d *Door) Handler() http.Handler { return handler(d.service) }
