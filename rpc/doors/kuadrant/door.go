// Package kuadrant is the door for Kuadrant: it speaks the protocol of its rate limiter Limitador, kuadrant.service.ratelimit.v1.RateLimitService, by Limitador's YAML files, and
// answers from jeton's own buckets.
//
// The limits of a request are those of its domain whose conditions hold and whose variables have values ([limitfile.Set.Match]). CheckRateLimit looks at them and takes nothing, Report
// charges them, Reserve holds an estimate of all of them or of none, and Commit says what was used of it. Each limit is an inline limit, a fixed window, whose bucket is found by the
// limit and the values, so every node and every door of a cluster shares it. A reservation expires by itself; its id has all that settles it, at any node, and once. An answer is a
// decision of the Limiter. Where there is none, the call fails, and the caller's failure mode decides.
//
// Start with [New]. [Door.Run] follows the files, and [Check] reads them for people.
package kuadrant

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
)

// Config is what a Door is made of.
type Config struct {
	// Limiter decides. Required.
	Limiter limit.Limiter
	// Path is a file of Limitador, or a directory of such: all *.yaml and *.yml that do not begin with a dot. Required.
	Path string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger receives what happens to the files; nil discards it.
	Logger *slog.Logger
}

// A Door answers Kuadrant. Its methods are safe for concurrent use.
type Door struct {
	cfg     Config
	metrics *counts
	limits  atomic.Pointer[limitfile.Set] // nil until files without mistakes were read
	mistake atomic.Pointer[string]        // of the files as they are now; nil for none
	files   []limitfile.File              // that New has read
}

// New reads the files. Where they have a mistake, the Door answers that nothing can be decided, and what is wrong, until they are right: a node that has other things to do starts. Only
// a path where nothing is, is an error.
func New(cfg Config) (*Door, error) {
	switch {
	case cfg.Limiter == nil:
		return nil, errors.New("kuadrant: no Limiter is given")
	case cfg.Path == "":
		return nil, errors.New("kuadrant: no file of Limitador is given")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if _, err := os.Stat(cfg.Path); err != nil {
		return nil, fmt.Errorf("kuadrant: the limits of Limitador: %w", err)
	}
	d := &Door{cfg: cfg, metrics: newCounts()}
	if err := d.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	var wrong error
	if d.files, wrong = readFiles(cfg.Path); wrong == nil {
		wrong = d.adopt(d.files)
	}
	if wrong != nil {
		says := wrong.Error()
		d.mistake.Store(&says)
		d.metrics.refused.Set(1)
		cfg.Logger.Error("the limits of Limitador have mistakes, so none are in force, and every call is answered with an error until they are right", "error", wrong)
	}
	d.logNotes()
	return d, nil
}

// Register registers the service.
func (d *Door) Register(r grpc.ServiceRegistrar) {
	kuadrantpb.RegisterRateLimitServiceServer(r, service{door: d})
}

// Problem says what is wrong with the files, in one line; empty if nothing is.
func (d *Door) Problem() string {
	mistake := d.mistake.Load()
	switch {
	case mistake == nil:
		return ""
	case d.limits.Load() == nil:
		return "kuadrant: no limits are in force, and every call fails: " + plain.First(*mistake)
	}
	return "kuadrant: new limits are refused, and those before stay in force: " + plain.First(*mistake)
}

// none is the answer where no limits are in force.
func (d *Door) none() error {
	says := "the files are being read"
	if mistake := d.mistake.Load(); mistake != nil {
		says = *mistake
	}
	return status.Error(codes.Unavailable, "no limits are in force: "+says)
}

// adopt puts files in force, or says what is wrong with them.
func (d *Door) adopt(files []limitfile.File) error {
	s, problems := limitfile.Parse(files)
	if len(problems) > 0 {
		var all []error
		for _, p := range problems {
			all = append(all, errors.New(p.String()))
		}
		return errors.Join(all...)
	}
	if before := d.limits.Swap(s); before != nil {
		d.metrics.forget(before.Limits, s.Limits)
	}
	return nil
}

// maxNotes is how many notes of files are logged.
const maxNotes = 10

// logNotes logs what in the files in force has no effect, or another meaning than it seems.
func (d *Door) logNotes() {
	limits := d.limits.Load()
	if limits == nil {
		return
	}
	for _, note := range limits.Notes[:min(len(limits.Notes), maxNotes)] {
		d.cfg.Logger.Warn("a limit of Limitador may mean something else than expected", "limit", note.String())
	}
	if more := len(limits.Notes) - maxNotes; more > 0 {
		d.cfg.Logger.Warn("more limits of Limitador may mean something else than expected: jeton serve --check --doors kuadrant --kuadrant-config shows them", "more", more)
	}
}

type service struct {
	kuadrantpb.UnimplementedRateLimitServiceServer

	door *Door
}
