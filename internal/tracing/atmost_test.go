package tracing

import (
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// TestAtMost counts what is sampled of very many: a burst, what a second brings, and no more.
func TestAtMost(t *testing.T) {
	now := time.Duration(0)
	a := newAtMost(10, func() time.Duration { return now })
	sampled := func(of int) (n int) {
		for range of {
			if a.ShouldSample(sdk.SamplingParameters{ParentContext: t.Context()}).Decision == sdk.RecordAndSample {
				n++
			}
		}
		return n
	}
	if n := sampled(100); n != 10 {
		t.Errorf("%d of 100 at once, want 10", n)
	}
	now += 500 * time.Millisecond
	if n := sampled(100); n != 5 {
		t.Errorf("%d of 100 after half a second, want 5", n)
	}
	now += time.Hour
	if n := sampled(100); n != 10 {
		t.Errorf("%d of 100 after an hour, want 10", n)
	}
}

// TestTracesFromElsewhere has a caller say of very many requests that their traces are sampled: only so many spans are made. Spans within one, and
// traces that begin here, have no bound.
func TestTracesFromElsewhere(t *testing.T) {
	for _, often := range []bool{false, true} {
		spans := tracetest.NewInMemoryExporter()
		p := newProvider(spans, Config{Share: 1, Often: often})
		tracer := p.Tracer("t")
		flags := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true}
		elsewhere := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(flags))
		first, root := tracer.Start(elsewhere, "first")
		for range 5 * mostFromElsewhere {
			_, within := tracer.Start(first, "within")
			_, here := tracer.Start(t.Context(), "here")
			if !within.IsRecording() || !here.IsRecording() {
				t.Fatal("a span within a trace that is made, or of a trace that begins here, is not made")
			}
		}
		made, begun := 1, time.Now()
		for range 100 * mostFromElsewhere {
			if _, span := tracer.Start(elsewhere, "more"); span.IsRecording() {
				made++
			}
		}
		if most := mostFromElsewhere * (2 + int(time.Since(begun)/time.Second)); !root.IsRecording() || made < mostFromElsewhere || made > most {
			t.Errorf("%d spans are made in traces from elsewhere, want %d to %d", made, mostFromElsewhere, most)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
