// Package exemplar names, beside a value of a histogram, a trace that it is of: so people who see slow calls on a chart find one of them.
//
// Start with [Observe].
package exemplar

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// traceID is the label of an exemplar by which Grafana and others find the trace.
const traceID = "trace_id"

// Of names the trace of ctx, for [Observe]: nil if ctx has no span, or one that is not sampled, whose trace nobody could find.
func Of(ctx context.Context) prometheus.Labels {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return nil
	}
	return prometheus.Labels{traceID: span.TraceID().String()}
}

// Observe gives a histogram a value, and an example of a trace that took as long, if there is one.
func Observe(to prometheus.Observer, value float64, exemplar prometheus.Labels) {
	if exemplar != nil {
		if to, ok := to.(prometheus.ExemplarObserver); ok {
			to.ObserveWithExemplar(value, exemplar)
			return
		}
	}
	to.Observe(value)
}
