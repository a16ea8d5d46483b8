package actor

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
)

// TestLatencyNamesTrace has each way to ask name the trace of the call beside the latency, and only if it is sampled.
func TestLatencyNamesTrace(t *testing.T) {
	rs := []limit.Request{spend("key", 1, "demo")}
	for name, ask := range map[string]func(context.Context, *System){
		"one":   func(ctx context.Context, s *System) { _, _ = s.Check(ctx, rs[0]) },
		"batch": func(ctx context.Context, s *System) { s.CheckBatch(ctx, rs) },
		"each": func(ctx context.Context, s *System) {
			told := make(chan struct{})
			s.Each(ctx, rs, func(int, limit.Result) { close(told) }, nil, nil)
			<-told
		},
	} {
		reg := prometheus.NewRegistry()
		s := start(t, Config{Metrics: reg})
		for id, flags := range map[byte]trace.TraceFlags{1: 0, 2: trace.FlagsSampled} {
			ask(trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{id}, SpanID: trace.SpanID{1}, TraceFlags: flags,
			})), s)
		}
		if traces := metricstest.Exemplars(t, reg)["jeton_check_seconds"]; len(traces) != 1 || traces[0] != (trace.TraceID{2}).String() {
			t.Errorf("%s: the traces are %q", name, traces)
		}
	}
}
