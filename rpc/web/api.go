// Package web is HTTP for operators and for the JSON API, of a node and of a gateway alike: the API itself, problem documents (RFC
// 9457), the guard that asks for tokens, and the settings of the servers. It decides nothing and stores nothing.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/internal/traced"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// answerWithin is how long a request may take.
const answerWithin = 5 * time.Second

// APIConfig says what the JSON API is made of.
type APIConfig struct {
	// Limiter decides. Required.
	Limiter limit.Limiter
	// Limits are the stored limits as they are now. Required.
	Limits func() *limit.Document
	// Stored is what other limits are put in force in; nil for a node that is alone, whose limits are a file's.
	Stored Stored
	// Operator does what operators ask for; nil: there is none, and it is refused.
	Operator Operator
	// Resetter fills buckets; nil: the Limiter does.
	Resetter limit.Resetter
	// Other answers every path outside /v1/; nil answers 404.
	Other http.Handler
	// Traces says that the Limiter makes spans. Without, nobody looks at which trace a request is of.
	Traces bool
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger gets faults of the node, never those of callers; nil discards them.
	Logger *slog.Logger
}

// Stored are limits that a cluster keeps.
type Stored interface {
	// Version is that of limits which the node goes by, or of earlier ones: it is asked before they are looked at.
	Version(ctx context.Context) (uint64, error)
	// Apply puts others in force. Its error has a gRPC code: Aborted when another version is in force than the one that is meant,
	// FailedPrecondition when the cluster does not take them as it is, and, with the limits that would be removed, when some are
	// left out that are not to be.
	Apply(ctx context.Context, m *pb.ApplyLimitsRequest) (*pb.ApplyLimitsResponse, error)
	// Audit is the newest entries of the audit log as JSON shows them; 0 is all.
	Audit(last int) any
	// Overrides is a page of those in force, as JSON shows it, of one limit or, without a name, of all: the page after the one that has
	// named its next, or, without that, the first. The error is a *limit.FieldError.
	Overrides(name, after string) (any, error)
	// History is the last versions of the limits as JSON shows them, or, for another version than 0, only that one, with its
	// document. The error is a *limit.FieldError.
	History(version uint64) (any, error)
}

// api is the JSON API. Keys stand in paths and may hold anything, // and .. too, so it routes by the path as it was
// sent, before anything could tidy it up.
//
//	POST        /v1/check                    limit.Request → limit.Decision, 200 or 429
//	POST        /v1/check-all                {"checks"} → limit.AllDecision, 200 or 429
//	POST        /v1/hold                     limit.Request with "for" → limit.Decision with "hold" and "granted", 200 or 429
//	POST        /v1/settle                   limit.Settlement → limit.Settled
//	POST        /v1/extend                   {"key", "receipt"} → limit.Decision, 200 or 429; {"hold", "for", "cost"} → limit.Settled
//	POST        /v1/return                   {"key", "receipts"} → {"returned"}
//	GET DELETE  /v1/buckets/{limit}/{key...} limit.Inspection (?plan=pro: by that plan's numbers); DELETE fills it, 204
//	GET PUT     /v1/limits                   the stored limits; PUT takes the whole document (?dry_run=true: only says what it would change)
//	GET         /v1/limits/history           their last versions (?version=3: that one, with its document)
//	POST        /v1/fill                     {"limit", "key"}: fills a bucket, 204; the audit log has it before
//	GET PUT     /v1/overrides                what is set for keys (?limit=login&after=…), in pages; PUT {"limit", "key", "says", "for"} sets one, 204
//	DELETE      /v1/overrides                takes one away (?limit=login&key=user:42), 204
//	GET         /v1/audit                    what operators have done (?last=20)
//
// Who may ask is for a guard to say: see [NewGuard].
type api struct {
	APIConfig
	metrics apiMetrics
	shown   shownLimits
}

// NewAPI makes the JSON API, a handler for the root of a server. The error says what is missing in cfg, or why the
// metrics cannot be registered.
func NewAPI(cfg APIConfig) (http.Handler, error) {
	if cfg.Limiter == nil || cfg.Limits == nil {
		return nil, errors.New("JSON API: Limiter and Limits are required")
	}
	cfg.Logger = orDiscard(cfg.Logger)
	if cfg.Resetter == nil {
		cfg.Resetter = cfg.Limiter
	}
	a := &api{APIConfig: cfg, metrics: newAPIMetrics()}
	if err := metrics.Register(cfg.Registerer, a.metrics.collectors()...); err != nil {
		return nil, err
	}
	return a, nil
}

// incoming is the context of a request, in the trace that its headers name.
func (a *api) incoming(r *http.Request) context.Context {
	if !a.Traces {
		return r.Context()
	}
	return traced.Under(r.Context(), r.Header.Get(traced.ParentHeader), r.Header.Get(traced.StateHeader))
}

// ServeHTTP routes, answers, and measures.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, answer := a.route(r)
	if answer == nil {
		a.Other.ServeHTTP(w, r)
		return
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(a.incoming(r), answerWithin)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	var out reply
	err := fault.Safely(a.metrics.panics, func() (err error) {
		out, err = answer(r)
		return err
	})
	if err != nil {
		out = problemOf(err).reply()
	}
	if out.status == http.StatusInternalServerError {
		a.Logger.ErrorContext(ctx, "request failed", append(fault.Attrs(err), "route", route)...)
	}
	out.write(w)
	a.metrics.observe(route, out.status, start)
}
