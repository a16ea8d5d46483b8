// Package rls is the door for Envoy: it speaks the protocol of Envoy's global rate limit service,
// envoy.service.ratelimit.v3.RateLimitService, by the YAML files of envoyproxy/ratelimit or what an xDS server sends in their place, and answers from jeton's own buckets.
//
// A request's descriptors find their rules as in that service ([descriptors.Domain.Match]). Those that are limited all admit, or none of
// them is charged; a request that is denied takes nothing. Each rule is an inline limit, a fixed window unless its file says otherwise,
// whose bucket is found by the domain and the descriptor, so every node and every door of a cluster shares it. An answer is a decision
// of the Limiter. Where there is none, the call fails, and Envoy's failure_mode_deny decides.
//
// Start with [New]. [Door.Run] follows the files, and [Check] reads them for people.
package rls

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// Config is what a Door is made of.
type Config struct {
	// Limiter decides. Required.
	Limiter limit.Limiter
	// Directory has the files, each with one domain: all *.yaml and *.yml that do not begin with a dot. Required, unless there is a Source.
	Directory string
	// AllFiles reads all files of the Directory that do not begin with a dot, whatever their names.
	AllFiles bool
	// Source sends what takes the place of the files; nil for a Directory.
	Source Source
	// Merge lets several files, or resources, describe one domain, each other descriptors.
	Merge bool
	// Reported charges hits that a request names itself, by hits_addend, whatever other descriptors say, and takes what is left where they do not fit, as charge_always of a rule does:
	// for configurations that cannot say which hits are reported after the work. And more limits than can be charged together are charged each by itself, in place of an error: for
	// servers of configurations that write as many as they like.
	Reported bool
	// Shadow answers OK whatever was decided.
	Shadow bool
	// Headers are added to answers; the zero value adds none.
	Headers Headers
	// Metadata puts the domain, the descriptors and what quota_mode let pass into each answer's dynamic metadata.
	Metadata bool
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger receives what happens to the files; nil discards it.
	Logger *slog.Logger
}

// A Source sends configurations in place of files.
type Source interface {
	// Follow calls take with each whole configuration, one after another, until ctx ends. The error of take says what is wrong with one, which is not in force then: the one before
	// stays.
	Follow(ctx context.Context, take func([]descriptors.Resource) error)
	// Name says where they come from, for people.
	Name() string
}

// A Door answers Envoy. Its methods are safe for concurrent use.
type Door struct {
	cfg     Config
	metrics *counts
	refunds refunds
	state   atomic.Pointer[state]  // nil until rules without mistakes have come
	mistake atomic.Pointer[string] // of the configuration that came last; nil for none
	files   []descriptors.File     // that New has read
}

// New reads the files. Where they have a mistake, the Door answers that nothing can be decided, and what is wrong, until they are right: a node that has other things to do
// starts. Only a directory that is not there is an error.
func New(cfg Config) (*Door, error) {
	switch {
	case cfg.Limiter == nil:
		return nil, errors.New("rls: no Limiter is given")
	case cfg.Source != nil && cfg.Directory != "":
		return nil, errors.New("rls: a directory and a source are given: leave one out")
	case cfg.Source == nil && cfg.Directory == "":
		return nil, errors.New("rls: no directory with files of Envoy's rate limit service is given")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Headers.setDefaults()
	d := &Door{cfg: cfg, metrics: newCounts()}
	if err := d.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	open := d.openDirectory
	if cfg.Source != nil {
		open = d.openSource
	}
	if err := open(); err != nil {
		return nil, err
	}
	return d, nil
}

// openDirectory reads the files for the first time. Only a directory that is not there is an error.
func (d *Door) openDirectory() error {
	if info, err := os.Stat(d.cfg.Directory); err != nil {
		return fmt.Errorf("rls: the directory with the files of Envoy's rate limit service: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("rls: %s is no directory: name the one with the files of Envoy's rate limit service", d.cfg.Directory)
	}
	files, wrong := d.readFiles()
	d.files = files
	if wrong == nil {
		wrong = d.adoptFiles(files)
	}
	if wrong != nil {
		says := wrong.Error()
		d.mistake.Store(&says)
		d.metrics.refused.Set(1)
		d.cfg.Logger.Error("the rules of Envoy's rate limit service have mistakes, so none are in force, and every call is answered with an error until they are right", "error", wrong)
	}
	return nil
}

// Problem says what is wrong with the files, or what the source has sent, in one line; empty if nothing is.
func (d *Door) Problem() string {
	mistake := d.mistake.Load()
	switch {
	case mistake == nil:
		return ""
	case d.state.Load() == nil:
		return "rls: no rules are in force, and every call fails: " + plain.First(*mistake)
	}
	return "rls: new rules are refused, and those before stay in force: " + plain.First(*mistake)
}

// none is the answer where no rules are in force.
func (d *Door) none() error {
	says := "they are being read"
	if mistake := d.mistake.Load(); mistake != nil {
		says = *mistake
	}
	return status.Error(codes.Unavailable, "no rules are in force: "+says)
}

// Register registers the service.
func (d *Door) Register(r grpc.ServiceRegistrar) {
	ratelimitv3.RegisterRateLimitServiceServer(r, service{door: d})
}

type service struct {
	ratelimitv3.UnimplementedRateLimitServiceServer

	door *Door
}
