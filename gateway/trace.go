package gateway

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// tracerName is the instrumentation scope of the spans.
const tracerName = "github.com/jeton-dev/jeton/gateway"

// w3c reads and writes the trace context of W3C (https://www.w3.org/TR/trace-context/).
var w3c = propagation.TraceContext{}

// startSpan starts the span of a decision, in the trace that the request came with. Without a tracer it starts none, and the
// trace headers of the request go on unchanged.
func startSpan(ctx context.Context, tracer trace.Tracer, from http.Header) (context.Context, trace.Span) {
	if tracer == nil {
		return ctx, nil
	}
	if from != nil {
		ctx = w3c.Extract(ctx, propagation.HeaderCarrier(from))
	}
	return tracer.Start(ctx, "jeton.decide", trace.WithSpanKind(trace.SpanKindInternal))
}

// inject tells an upstream the span that its request belongs to, if there is one.
func inject(r *http.Request) {
	if trace.SpanContextFromContext(r.Context()).IsValid() {
		w3c.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	}
}
