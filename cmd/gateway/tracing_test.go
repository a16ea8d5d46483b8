package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// A sink is a collector that keeps the names of the services and spans that it gets.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	names []string
}

// Export implements the OTLP service.
func (s *sink) Export(_ context.Context, m *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range m.GetResourceSpans() {
		for _, a := range r.GetResource().GetAttributes() {
			s.names = append(s.names, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		for _, scope := range r.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.names = append(s.names, span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// Spans reach the collector at the latest when the gateway stops.
func TestSpansAreSentBeforeTheEnd(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, server := &sink{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	document := strings.Replace(aDocument(anUpstream(t).URL), "deny:", "tracing: {endpoint: "+l.Addr().String()+", insecure: true, share: 1}\ndeny:", 1)
	r := open(t, Config{}, document)
	if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got := strings.Join(s.names, " ")
	for _, want := range []string{"service.name=jeton-gateway", "service.instance.id=test", "jeton.decide"} {
		if !strings.Contains(got, want) {
			t.Errorf("the collector got %q, want %q in it", got, want)
		}
	}
}

// A collector that is not there costs a line in the log, and the gateway stops in time all the same.
func TestNoCollector(t *testing.T) {
	document := strings.Replace(aDocument(anUpstream(t).URL), "deny:", "tracing: {endpoint: '127.0.0.1:1', insecure: true, share: 1}\ndeny:", 1)
	r := open(t, Config{}, document)
	if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ctx); !errors.Is(err, ErrSpansLost) {
		t.Errorf("Close returns %v", err)
	}
}

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
		p := newProvider(spans, tt.share, "test")
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
	var log journal
	inner := &failing{}
	e := newExporter(t.Context(), inner, slog.New(slog.NewTextHandler(&log, nil)), newMetrics().exportFailures)
	for _, step := range []struct {
		err         error
		down, again int // lines so far
	}{{nil, 0, 0}, {errors.New("refused"), 1, 0}, {errors.New("refused"), 1, 0}, {nil, 1, 1}, {nil, 1, 1}, {errors.New("refused"), 2, 1}} {
		inner.err = step.err
		if err := e.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("it returns %v, which would be said once more", err)
		}
		if down, again := log.count("does not accept spans"), log.count("accepts spans again"); down != step.down || again != step.again {
			t.Errorf("%d lines say that it is down and %d that it is back, want %d and %d", down, again, step.down, step.again)
		}
	}
	if n := valueOf(e.failures); n != 3 {
		t.Errorf("%v failures are counted, want 3", n)
	}
}
