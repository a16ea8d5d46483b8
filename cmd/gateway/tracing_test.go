package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/internal/tracing"
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
	if err := r.Close(ctx); !errors.Is(err, tracing.ErrSpansLost) {
		t.Errorf("Close returns %v", err)
	}
}
