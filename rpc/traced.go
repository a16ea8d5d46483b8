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

// A Traced is a Limiter of a node that makes a span of each check whose trace is sampled: where it was decided, from memory or with line that
// was reserved for it at replicas, and what was decided. Replicas are told of the span. Everything else goes by it as it is.
type Traced struct {
	limit.Limiter

	tracer trace.Tracer
	node   string
}

// NewTraced makes one around what decides, for a node of that name.
func NewTraced(around limit.Limiter, by trace.TracerProvider, node string) *Traced {
	return &Traced{Limiter: around, tracer: by.Tracer(tracerName), node: node}
}

// First is the address of the node that decides about key while all are well, as Decision.Node has it: empty for the own one. An edge asks
// for it before it takes a denial for one that holds for a while.
func (t *Traced) First(key string) string {
	if places, ok := t.Limiter.(interface{ First(key string) string }); ok {
		return places.First(key)
	}
	return ""
}

// Check implements [limit.Checker].
func (t *Traced) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	return t.checkAt(ctx, t.Limiter, &r)
}

// checkAt has one check decided by a Limiter.
func (t *Traced) checkAt(ctx context.Context, by limit.Checker, r *limit.Request) (limit.Decision, error) {
	ctx, s := t.begin(ctx, "jeton.decide")
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

// CheckBatch implements [limit.BatchChecker].
func (t *Traced) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	ctx, s := t.begin(ctx, "jeton.decide_batch")
	if s == nil {
		return t.Limiter.CheckBatch(ctx, rs)
	}
	defer s.span.End() // as above
	results := t.Limiter.CheckBatch(ctx, rs)
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

// CheckAll implements [limit.AllChecker].
func (t *Traced) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	ctx, s := t.begin(ctx, "jeton.decide_all")
	if s == nil {
		return t.Limiter.CheckAll(ctx, rs)
	}
	defer s.span.End()
	d, err := t.Limiter.CheckAll(ctx, rs)
	s.span.SetAttributes(attribute.Int("jeton.checks", len(rs)), attribute.Bool("jeton.reserved", s.reserved.Load()))
	if err != nil {
		traced.Failed(s.span, err)
		return d, err
	}
	s.span.SetAttributes(attribute.Bool("jeton.allowed", d.Denied == nil))
	return d, nil
}

// begin begins the span of what ctx asks; nil if it is not traced.
func (t *Traced) begin(ctx context.Context, name string) (context.Context, *deciding) {
	ctx, span := traced.Start(ctx, t.tracer, name, ofServers...)
	if span == nil {
		return ctx, nil
	}
	span.SetAttributes(attribute.String("jeton.node", t.node))
	s := &deciding{span: span, text: traced.Text(ctx)}
	return limit.WithTrace(ctx, s), s
}

// incoming is the context of a call in the trace that its metadata names. A node that makes no spans does not look.
func (t *Traced) incoming(ctx context.Context) context.Context {
	if t == nil {
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
