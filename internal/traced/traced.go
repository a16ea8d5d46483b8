// Package traced starts spans where somebody asks for a trace, and passes their contexts on: as a text in messages of jeton, and in the
// headers of W3C's trace context (https://www.w3.org/TR/trace-context/) elsewhere. What is not sampled costs no allocation, and says
// nothing on the wire.
//
// Start with [Start].
package traced

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The names of the headers.
const (
	ParentHeader = "traceparent"
	StateHeader  = "tracestate"
)

// maxText is how many bytes of a text are read: tracestate has at most 512 that must be passed on.
const maxText = 1024

// w3c reads and writes the headers.
var w3c = propagation.TraceContext{}

// headers are those of one context. It implements propagation.TextMapCarrier.
type headers struct{ parent, state string }

func (h *headers) Get(name string) string {
	switch name {
	case ParentHeader:
		return h.parent
	case StateHeader:
		return h.state
	}
	return ""
}

func (h *headers) Set(name, value string) {
	switch name {
	case ParentHeader:
		h.parent = value
	case StateHeader:
		h.state = value
	}
}

func (*headers) Keys() []string { return []string{ParentHeader, StateHeader} }

// Start starts a span under that of ctx, or the first of a trace if ctx has none, as the provider of the tracer chooses. Without a
// tracer, and in a trace that is not sampled, the span is nil, and ctx says so to what is asked in it.
func Start(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if tracer == nil {
		return ctx, nil
	}
	if at := trace.SpanContextFromContext(ctx); at.IsValid() && !at.IsSampled() {
		return ctx, nil
	}
	ctx, span := tracer.Start(ctx, name, options...)
	if !span.IsRecording() {
		return ctx, nil
	}
	return ctx, span
}

// Headers are what tells another process of the span in ctx; both are empty unless it is sampled.
func Headers(ctx context.Context) (parent, state string) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return "", ""
	}
	var h headers
	w3c.Inject(ctx, &h)
	return h.parent, h.state
}

// Text is that in one text; empty unless the span in ctx is sampled.
func Text(ctx context.Context) string {
	parent, state := Headers(ctx)
	if state == "" {
		return parent
	}
	return parent + " " + state
}

// Under is ctx in the trace that headers tell of. Without a valid one it is ctx itself.
func Under(ctx context.Context, parent, state string) context.Context {
	if parent == "" || len(parent)+len(state) > maxText {
		return ctx
	}
	return w3c.Extract(ctx, &headers{strings.Clone(parent), strings.Clone(state)}) // they may be parts of something larger
}

// UnderText is ctx in the trace that a text tells of.
func UnderText(ctx context.Context, text string) context.Context {
	parent, state, _ := strings.Cut(text, " ")
	return Under(ctx, parent, state)
}

// Reason says in a word why something was not decided. The words of the error itself may have a key in them, which traces are not to have.
func Reason(err error) string {
	field := (*limit.FieldError)(nil)
	switch {
	case errors.As(err, &field):
		return "invalid: " + field.Field
	case errors.Is(err, limit.ErrUnknownLimit):
		return "unknown limit"
	case errors.Is(err, limit.ErrOverloaded):
		return "overloaded"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, limit.ErrUnavailable):
		return "unavailable"
	}
	return "error"
}
