// Package rlqs is the door for Envoy's rate limit quota filter: it speaks envoy.service.rate_limit_quota.v3.RateLimitQuotaService, and divides stored limits among Envoys.
//
// Envoy reports how many requests its buckets have, and is told how many it may let pass, and for how long: an assignment, which it keeps to by itself. Each assignment was taken from the limit before, as
// line that begins when the assignment is over at the latest (limit.LeaseAsk.After). So however many Envoys there are, and whenever they spend what they have, no more is admitted than the limit promises.
//
//	Recv ─▶ subscriptions (pure) ─┬─▶ asks ─▶ Config.Limiter ─▶ answers ─┐
//	            ▲                  └─▶ actions ─▶ Send                    │
//	            └────────────────────────────────────────────────────────┘
//
// Start with [New].
package rlqs

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The bounds of a door. One address has a quarter of each.
const (
	maxStreams = 1024
	maxSeats   = 65_536 // buckets of all streams
)

// Config is what a Door is made of.
type Config struct {
	// Limiter gives the line of assignments. Required.
	Limiter limit.Limiter
	// Limits are the stored limits in force, nil while they are not known. Required.
	Limits func() *limit.Document
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger is told why buckets are denied, and why nothing can be decided; nil discards it.
	Logger *slog.Logger
}

// A Door answers Envoys. Its methods are safe for concurrent use.
type Door struct {
	cfg     Config
	counts  *counts
	log     *paced
	begin   time.Time
	running sync.WaitGroup // the goroutines of streams that read and send

	streams, seats *shares
}

// New makes a Door.
func New(cfg Config) (*Door, error) {
	if cfg.Limiter == nil || cfg.Limits == nil {
		return nil, errors.New("rlqs: no Limiter, or no Limits, is given")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{cfg: cfg, counts: newCounts(), log: newPaced(cfg.Logger, cfg.Limits), begin: time.Now(), streams: newShares(maxStreams), seats: newShares(maxSeats)}
	return d, d.counts.register(cfg.Registerer)
}

// Register registers the service.
func (d *Door) Register(r grpc.ServiceRegistrar) {
	rlqsv3.RegisterRateLimitQuotaServiceServer(r, service{door: d})
}

// Close waits until the goroutines of streams have ended. Their server has stopped before.
func (d *Door) Close() error {
	d.running.Wait()
	return nil
}

type service struct {
	rlqsv3.UnimplementedRateLimitQuotaServiceServer

	door *Door
}

// now is a clock that only goes on, in nanoseconds since some time before the door was made.
func (d *Door) now() int64 { return int64(time.Since(d.begin)) + 1 }

// newSubscriptions are those of a stream that has begun, from that address.
func (d *Door) newSubscriptions(from string) *subscriptions {
	return &subscriptions{
		buckets: map[target]*bucket{}, random: rand.Float64, tag: rand.Uint64, count: d.counts,
		seat: func() bool {
			if !d.seats.take(from) {
				return false
			}
			d.counts.buckets.Inc()
			return true
		},
		leave: func() {
			d.seats.leave(from)
			d.counts.buckets.Dec()
		},
		refused: func(why refusal, at target, detail error) {
			d.counts.refused.WithLabelValues(string(why)).Inc()
			d.log.refused(why, at, detail)
		},
	}
}
