package rpc

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
)

// ObservedConfig says what an [Observed] is made of.
type ObservedConfig struct {
	// Limiter decides. Required.
	Limiter limit.Limiter
	// Limits are those in force. Checks without a decision are counted by the names that they have; nil counts them under one name.
	Limits func() *limit.Document
	// Tracer makes the spans; nil makes none.
	Tracer trace.TracerProvider
	// Node is the node's name, for its spans.
	Node string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// An Observed is the Limiter that everything goes through that a node is asked, by whichever protocol. It counts the checks that get no decision,
// once: those that another node has forwarded count there. And it makes a span of each check whose trace is sampled: where it was decided, from
// memory or with line that was reserved for it at replicas, and what was decided. Replicas are told of the span. Everything else goes by it as it is.
type Observed struct {
	limit.Limiter

	tracer    trace.Tracer // nil: there are no spans
	node      string
	undecided *undecided
}

// NewObserved makes an Observed. The error is that of registering the metrics.
func NewObserved(cfg ObservedConfig) (*Observed, error) {
	o := &Observed{Limiter: cfg.Limiter, node: cfg.Node}
	if cfg.Tracer != nil {
		o.tracer = cfg.Tracer.Tracer(tracerName)
	}
	var err error
	o.undecided, err = newUndecided(cfg.Limits, cfg.Registerer)
	return o, err
}

// Undecided is how many checks got no decision since NewObserved, by limit and by the code of the error as gRPC names it. A check of several limits
// counts at each.
func (o *Observed) Undecided() map[string]map[string]float64 { return o.undecided.read() }

// First is the address of the node that decides about key while all are well, as Decision.Node has it: empty for the own one. An edge asks
// for it before it takes a denial for one that holds for a while.
func (o *Observed) First(key string) string {
	if places, ok := o.Limiter.(interface{ First(key string) string }); ok {
		return places.First(key)
	}
	return ""
}

// Check implements [limit.Checker].
func (o *Observed) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	d, err := o.checkAt(ctx, o.Limiter, &r)
	if err != nil {
		o.undecided.count(ctx, &r, err)
	}
	return d, err
}

// CheckBatch implements [limit.BatchChecker].
func (o *Observed) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := o.checkBatch(ctx, rs)
	for i := range results {
		if err := results[i].Err; err != nil {
			o.undecided.count(ctx, &rs[i], err)
		}
	}
	return results
}

// CheckAll implements [limit.AllChecker]. Where one of the checks has no decision, none of them has.
func (o *Observed) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	d, err := o.checkAll(ctx, rs)
	if err != nil {
		for i := range rs {
			o.undecided.count(ctx, &rs[i], err)
		}
	}
	return d, err
}
