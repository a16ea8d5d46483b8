package exemplar

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// spanning is a context with a span, which is sampled or not.
func spanning(ctx context.Context, flags trace.TraceFlags) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: flags,
	}))
}

// TestExemplar observes with a trace that is sampled, and with one that is not.
func TestExemplar(t *testing.T) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Help: "A test.", Buckets: []float64{1}})
	Observe(h, 0.5, Of(spanning(t.Context(), trace.FlagsSampled)))
	Observe(h, 2, Of(spanning(t.Context(), 0)))
	Observe(h, 2, Of(t.Context()))
	var m dto.Metric
	if err := h.Write(&m); err != nil || m.GetHistogram().GetSampleCount() != 3 {
		t.Fatalf("%v, %v", &m, err)
	}
	bucket := m.GetHistogram().GetBucket()[0]
	if label := bucket.GetExemplar().GetLabel(); len(label) != 1 || label[0].GetName() != "trace_id" || label[0].GetValue() != "01020000000000000000000000000000" {
		t.Errorf("the bucket has the exemplar %v", bucket.GetExemplar())
	}
	if len(m.GetHistogram().GetBucket()) != 1 {
		t.Errorf("an exemplar of what was not sampled: %v", m.GetHistogram().GetBucket())
	}
}

// below is a context so many values deep below another.
func below(ctx context.Context, depth int) context.Context {
	type key int
	if depth == 0 {
		return ctx
	}
	return below(context.WithValue(ctx, key(depth), depth), depth-1)
}

// BenchmarkObserve reports what an observation costs in a context as deep as that of a call: by itself, as it is made of what is not sampled, and with an
// exemplar.
func BenchmarkObserve(b *testing.B) {
	deep := below(b.Context(), 12)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Help: "A test.", Buckets: metrics.LatencyBuckets()})
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.Observe(1e-3)
		}
	})
	for name, ctx := range map[string]context.Context{"no span": deep, "not sampled": spanning(deep, 0), "sampled": spanning(deep, trace.FlagsSampled)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Observe(h, 1e-3, Of(ctx))
			}
		})
	}
}
