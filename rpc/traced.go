package rpc

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/traced"
)

// tracerName is the instrumentation scope of the spans.
const tracerName = "github.com/jeton-dev/jeton/rpc"

// ofServers are the options of a span of what a node is asked.
var ofServers = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}

// checkAt has one check decided by a Limiter, within a span if its trace is sampled.
func (o *Observed) checkAt(ctx context.Context, by limit.Checker, r *limit.Request) (limit.Decision, error) {
	ctx, s := o.begin(ctx, "jeton.decide")
	if s == nil {
		return by.Check(ctx, *r)
	}
	defer s.span.End() // of a check that panics
	d, err := by.Check(ctx, *r)
	if err == nil {
		s.decidedBy(&d)
	}
	traced.Decided(s.span, r, &d, err)
	return d, err
}

// checkBatch has a batch decided, within a span if its trace is sampled.
func (o *Observed) checkBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	ctx, s := o.begin(ctx, "jeton.decide_batch")
	if s == nil {
		return o.Limiter.CheckBatch(ctx, rs)
	}
	defer s.span.End() // as above
	results := o.Limiter.CheckBatch(ctx, rs)
	forwarded := 0
	for i := range results {
		if results[i].Decision.Node != "" {
			forwarded++
		}
	}
	s.span.SetAttributes(attribute.Int("jeton.forwarded", forwarded), attribute.Bool("jeton.reserved", s.reserved.Load()))
	traced.DecidedAll(s.span, results)
	return results
}

// checkAll has checks of several keys decided, within a span if their trace is sampled.
func (o *Observed) checkAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	ctx, s := o.begin(ctx, "jeton.decide_all")
	if s == nil {
		return o.Limiter.CheckAll(ctx, rs)
	}
	defer s.span.End()
	d, err := o.Limiter.CheckAll(ctx, rs)
	s.span.SetAttributes(attribute.Int("jeton.checks", len(rs)), attribute.Bool("jeton.reserved", s.reserved.Load()))
	if err != nil {
		traced.Failed(s.span, err)
		return d, err
	}
	s.span.SetAttributes(attribute.Bool("jeton.allowed", d.Denied == nil))
	return d, nil
}

// begin begins the span of what ctx asks; nil if it is not traced.
func (o *Observed) begin(ctx context.Context, name string) (context.Context, *deciding) {
	if o.tracer == nil {
		return ctx, nil
	}
	ctx, span := traced.Start(ctx, o.tracer, name, ofServers...)
	if span == nil {
		return ctx, nil
	}
	span.SetAttributes(attribute.String("jeton.node", o.node))
	s := &deciding{span: span, text: traced.Text(ctx)}
	return limit.WithTrace(ctx, s), s
}

// incoming is the context of a call in the trace that its metadata names. A node that makes no spans does not look.
func (o *Observed) incoming(ctx context.Context) context.Context {
	if o.tracer == nil {
		return ctx
	}
	parent := metadata.ValueFromIncomingContext(ctx, traced.ParentHeader)
	if len(parent) == 0 {
		return ctx
	}
	state := ""
	if all := metadata.ValueFromIncomingContext(ctx, traced.StateHeader); len(all) > 0 {
		state = all[0]
	}
	return traced.Under(ctx, parent[0], state)
}

// A deciding is the span of what is being decided. It implements [limit.Trace].
type deciding struct {
	span     trace.Span
	text     string
	reserved atomic.Bool
	waited   atomic.Bool
}

// Text implements [limit.Trace].
func (s *deciding) Text() string { return s.text }

// Reserves implements [limit.Trace].
func (s *deciding) Reserves(waits bool) {
	s.reserved.Store(true)
	if waits {
		s.waited.Store(true)
		s.span.AddEvent("waits for replicas")
	} else {
		s.span.AddEvent("reserves ahead")
	}
}

// decidedBy puts on the span who has decided, and from what.
func (s *deciding) decidedBy(d *limit.Decision) {
	if d.Node != "" {
		s.span.SetAttributes(attribute.String("jeton.decided", "forwarded"), attribute.String("jeton.owner", d.Node))
		return
	}
	from := "memory"
	if s.waited.Load() {
		from = "replicas"
	}
	s.span.SetAttributes(
		attribute.String("jeton.decided", "here"), attribute.String("jeton.from", from), attribute.Bool("jeton.reserved", s.reserved.Load()),
	)
}
