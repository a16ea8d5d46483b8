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
	"os"
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
	state   atomic.Pointer[state]  // nil until files without mistakes were read
	mistake atomic.Pointer[string] // why there is none
	files   []descriptors.File     // that New has read
}

// New reads the files. Where they have a mistake, the Door answers that nothing can be decided, and what is wrong, until they are right: a node that has other things to do
// starts. Only a directory that is not there is an error.
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
	if info, err := os.Stat(cfg.Directory); err != nil {
		return nil, fmt.Errorf("rls: the directory with the files of Envoy's rate limit service: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("rls: %s is no directory: name the one with the files of Envoy's rate limit service", cfg.Directory)
	}
	files, wrong := readDirectory(cfg.Directory)
	d := &Door{cfg: cfg, metrics: newCounts(), files: files}
	if err := d.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	if wrong == nil {
		wrong = d.adopt(files)
	}
	if wrong != nil {
		says := wrong.Error()
		d.mistake.Store(&says)
		d.metrics.refused.Set(1)
		cfg.Logger.Error("the rules of Envoy's rate limit service have mistakes, so none are in force, and every call is answered with an error until they are right", "error", wrong)
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
