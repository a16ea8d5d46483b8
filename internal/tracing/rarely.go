package tracing

import (
	"context"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// rarely is a provider whose tracers draw whether a trace begins before the SDK is asked, which would make a context and an id to choose
// by. What is not drawn costs no allocation. Traces that began elsewhere go on as ever.
type rarely struct {
	embedded.TracerProvider

	of    trace.TracerProvider // which begins every trace that was drawn
	share float64
}

// Tracer implements [trace.TracerProvider].
func (p rarely) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return rarelyTracer{of: p.of.Tracer(name, options...), share: p.share}
}

type rarelyTracer struct {
	embedded.Tracer

	of    trace.Tracer
	share float64
}

// Start implements [trace.Tracer].
func (t rarelyTracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if at := trace.SpanContextFromContext(ctx); at.IsSampled() || !at.IsValid() && drawn(t.share) {
		return t.of.Start(ctx, name, options...)
	}
	return ctx, noop.Span{}
}

// drawn reports true for that share of its calls.
func drawn(share float64) bool { return share >= 1 || share > 0 && rand.Float64() < share }
