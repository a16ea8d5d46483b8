package tracing

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A request that begins a trace is sampled by its share, and one that comes with a trace keeps the choice that was made.
func TestSampling(t *testing.T) {
	for _, tt := range []struct {
		share  float64
		parent string // its flags; empty: none
		want   bool
	}{
		{1, "", true},
		{1e-12, "", false},
		{1, "00", false},
		{1e-12, "01", true},
	} {
		spans := tracetest.NewInMemoryExporter()
		p := newProvider(spans, Config{Share: tt.share, Service: "test", Instance: "test"})
		ctx := t.Context()
		if tt.parent != "" {
			ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
				"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + tt.parent,
			})
		}
		_, span := p.Tracer("test").Start(ctx, "request", trace.WithSpanKind(trace.SpanKindInternal))
		span.End()
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if got := len(spans.GetSpans()) == 1; got != tt.want {
			t.Errorf("share %v, parent %q: sampled is %v", tt.share, tt.parent, got)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// failing is an exporter that takes spans or not.
type failing struct {
	sdk.SpanExporter
	err error
}

func (f *failing) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return f.err }

func TestACollectorThatIsDownIsOneLine(t *testing.T) {
	var log strings.Builder
	count := func(words string) int { return strings.Count(log.String(), words) }
	inner, failures := &failing{}, prometheus.NewCounter(prometheus.CounterOpts{Name: "failures_total", Help: "Failures."})
	e := newExporter(t.Context(), inner, slog.New(slog.NewTextHandler(&log, nil)), failures)
	for _, step := range []struct {
		err         error
		down, again int // lines so far
	}{{nil, 0, 0}, {errors.New("refused"), 1, 0}, {errors.New("refused"), 1, 0}, {nil, 1, 1}, {nil, 1, 1}, {errors.New("refused"), 2, 1}} {
		inner.err = step.err
		if err := e.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("it returns %v, which would be said once more", err)
		}
		if down, again := count("does not accept spans"), count("accepts spans again"); down != step.down || again != step.again {
			t.Errorf("%d lines say that it is down and %d that it is back, want %d and %d", down, again, step.down, step.again)
		}
	}
	var counted dto.Metric
	if err := failures.Write(&counted); err != nil {
		t.Fatal(err)
	}
	if n := counted.GetCounter().GetValue(); n != 3 {
		t.Errorf("%v failures are counted, want 3", n)
	}
}

// Where very many traces could begin, those that are not drawn cost nothing, and the others are in full.
func TestRarely(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	of := newProvider(spans, Config{Often: true})
	tracer := func(share float64) trace.Tracer { return rarely{of: of, share: share}.Tracer("test") }
	never, always := tracer(0), tracer(1)
	if n := testing.AllocsPerRun(100, func() {
		if _, span := never.Start(t.Context(), "never"); span.IsRecording() {
			t.Error("a span that was not drawn records")
		}
	}); n != 0 {
		t.Errorf("%v allocations for a trace that does not begin", n)
	}
	ctx, span := always.Start(t.Context(), "always")
	_, below := never.Start(ctx, "below") // the choice was made above
	below.End()
	span.End()
	if err := of.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if got := spans.GetSpans(); len(got) != 2 || got[0].Parent.SpanID() != got[1].SpanContext.SpanID() {
		t.Errorf("%+v", got)
	}
	if err := of.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// What waits for a collector that is down is bounded.
func TestMemoryIsBounded(t *testing.T) {
	held := make(chan struct{})
	hung := &hanging{free: held}
	p := newProvider(hung, Config{Share: 1})
	for range 20_000 {
		_, span := p.Tracer("test").Start(t.Context(), "span")
		span.End() // which does not wait
	}
	close(held)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if hung.spans > 4096 {
		t.Errorf("%d spans were kept for a collector that does not answer", hung.spans)
	}
}

// A hanging exporter takes nothing until it is freed.
type hanging struct {
	free  chan struct{}
	spans int
}

func (h *hanging) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	<-h.free
	h.spans += len(spans)
	return nil
}

func (*hanging) Shutdown(context.Context) error { return nil }
