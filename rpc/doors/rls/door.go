// Package rls is the door for Envoy: it speaks the protocol of Envoy's global rate limit service,
// envoy.service.ratelimit.v3.RateLimitService, by the YAML files of envoyproxy/ratelimit, and answers from jeton's own buckets.
//
// A request's descriptors find their rules as in that service ([descriptors.Domain.Match]). Those that are limited all admit, or none of
// them is charged; a request that is denied takes nothing. Each rule is an inline limit, a fixed window unless its file says otherwise,
// whose bucket is found by the domain and the descriptor, so every node and every door of a cluster shares it. An answer is a decision
// of the Limiter. Where there is none, the call fails, and Envoy's failure_mode_deny decides.
//
// Start with [New]. [Door.Run] follows the files, and [Check] reads them for people.
package rls

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// Config is what a Door is made of.
type Config struct {
	// Limiter decides. Required.
	Limiter limit.Limiter
	// Directory has the files, each with one domain: all *.yaml and *.yml that do not begin with a dot. Required.
	Directory string
	// Headers are added to answers; the zero value adds none.
	Headers Headers
	// Metadata puts the domain, the descriptors and what quota_mode let pass into each answer's dynamic metadata.
	Metadata bool
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger receives what happens to the files; nil discards it.
	Logger *slog.Logger
}

// A Door answers Envoy. Its methods are safe for concurrent use.
type Door struct {
	cfg     Config
	metrics *counts
	refunds refunds
	state   atomic.Pointer[state]
	files   []descriptors.File // that New has read
}

// New reads the files, which must be without problems.
func New(cfg Config) (*Door, error) {
	switch {
	case cfg.Limiter == nil:
		return nil, errors.New("rls: no Limiter is given")
	case cfg.Directory == "":
		return nil, errors.New("rls: no directory with files of Envoy's rate limit service is given")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Headers.setDefaults()
	files, err := readDirectory(cfg.Directory)
	if err != nil {
		return nil, fmt.Errorf("rls: %w", err)
	}
	d := &Door{cfg: cfg, metrics: newCounts(), files: files}
	if err := d.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	if err := d.adopt(files); err != nil {
		return nil, fmt.Errorf("rls: %w", err)
	}
	return d, nil
}

// Register registers the service.
func (d *Door) Register(r grpc.ServiceRegistrar) {
	ratelimitv3.RegisterRateLimitServiceServer(r, service{door: d})
}

type service struct {
	ratelimitv3.UnimplementedRateLimitServiceServer

	door *Door
}
