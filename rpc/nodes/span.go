package nodes

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
const tracerName = "github.com/jeton-dev/jeton/rpc/nodes"

// ofClients are the options of a span that calls other nodes.
var ofClients = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}

// A watch is the span of a call that may be traced: which nodes it asks, one beside another or one after another, and what comes of it. The
// span begins when the first other node is asked: what the own node decides has a span of its own. A nil watch sees nothing.
type watch struct {
	tracer  trace.Tracer
	span    trace.Span // nil before it begins, and if it does not
	asked   atomic.Int64
	hedges  atomic.Int64
	retries atomic.Int64
}

// watch is that of a call with ctx; nil if the call is not traced. In a node, no trace begins with a call to another one.
func (s *Set) watch(ctx context.Context) *watch {
	if s.tracer == nil {
		return nil
	}
	at := trace.SpanContextFromContext(ctx)
	if at.IsValid() && !at.IsSampled() || !at.IsValid() && s.own != nil {
		return nil
	}
	return &watch{tracer: s.tracer}
}

// begin begins the span.
func (w *watch) begin(ctx context.Context, name string) context.Context {
	if w == nil || w.span != nil {
		return ctx
	}
	ctx, w.span = traced.Start(ctx, w.tracer, name, ofClients...)
	return ctx
}

// asks notes that n is asked.
func (w *watch) asks(n *Node, checks int) {
	if w == nil || w.span == nil {
		return
	}
	w.asked.Add(1)
	w.span.AddEvent("asks a node", trace.WithAttributes(attribute.String("server.address", n.address), attribute.Int("jeton.checks", checks)))
}

// hedged notes that others are asked beside n, which is silent.
func (w *watch) hedged(n *Node) {
	if w == nil || w.span == nil {
		return
	}
	w.hedges.Add(1)
	w.span.AddEvent("a node is silent", trace.WithAttributes(attribute.String("server.address", n.address)))
}

// failed notes that n had no answer.
func (w *watch) failed(n *Node, err error) {
	if w == nil || w.span == nil {
		return
	}
	w.retries.Add(1)
	w.span.AddEvent("a node had no answer", trace.WithAttributes(
		attribute.String("server.address", n.address), attribute.String("jeton.reason", traced.Reason(err)),
	))
}

// counts puts on the span what it has counted.
func (w *watch) counts() {
	w.span.SetAttributes(
		attribute.Int64("jeton.nodes_asked", w.asked.Load()), attribute.Int64("jeton.hedges", w.hedges.Load()), attribute.Int64("jeton.retries", w.retries.Load()),
	)
}

// end ends the span of a check.
func (w *watch) end(r *limit.Request, d *limit.Decision, err error) {
	if w == nil || w.span == nil {
		return
	}
	w.counts()
	if d.Node != "" {
		w.span.SetAttributes(attribute.String("server.address", d.Node))
	}
	traced.Decided(w.span, r, d, err)
}

// endAll ends the span of a batch.
func (w *watch) endAll(results []limit.Result) {
	if w == nil || w.span == nil {
		return
	}
	w.counts()
	traced.DecidedAll(w.span, results)
}

// traceOf is the span of a question, as a text; empty if it has none.
func (n *Node) traceOf(ctx context.Context) string {
	if !n.traces {
		return ""
	}
	return traced.Text(ctx)
}

// gathered puts on the span of a question with how many others it went in a message.
func gathered(ctx context.Context, q *question, got *reply) {
	if q.trace != "" {
		trace.SpanFromContext(ctx).SetAttributes(attribute.Int("jeton.message_checks", got.together))
	}
}

// named adds the span of ctx to the metadata of a call. Without a sampled span it is ctx itself.
func named(ctx context.Context) context.Context {
	parent, state := traced.Headers(ctx)
	if parent == "" {
		return ctx
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	md.Set(traced.ParentHeader, parent)
	if state != "" {
		md.Set(traced.StateHeader, state)
	}
	return metadata.NewOutgoingContext(ctx, md)
}
