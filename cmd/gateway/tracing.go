package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"

	"github.com/jeton-dev/jeton/gateway/config"
)

// ErrSpansLost means that a gateway has stopped before the collector had taken all of its spans. Nothing else is lost.
var ErrSpansLost = errors.New("tracing: spans that were not sent are lost")

// tracing is where spans go; the zero value sends none.
type tracing struct {
	provider trace.TracerProvider // nil for none
	shutdown func(context.Context) error
	exporter *exporter
	cut      context.CancelFunc // ends what is being sent
}

// openTracing makes what the document says. Without an endpoint, spans go nowhere. It does not wait for the collector.
func openTracing(doc *config.Document, log *slog.Logger, failures prometheus.Counter) (*tracing, error) {
	t := doc.Tracing
	if t.Endpoint == "" {
		return &tracing{}, nil
	}
	secure := otlptracegrpc.WithInsecure()
	if !t.Insecure {
		secure = otlptracegrpc.WithTLSCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	otlp, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpoint(t.Endpoint), secure)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	life, cut := context.WithCancel(context.Background())
	e := newExporter(life, otlp, log, failures)
	provider := newProvider(e, t.SampleShare(), doc.GatewayName())
	return &tracing{provider: provider, shutdown: provider.Shutdown, exporter: e, cut: cut}, nil
}

// newProvider samples a share of the requests that begin a trace, and keeps the choice of those that come with one.
func newProvider(to sdk.SpanExporter, share float64, name string) *sdk.TracerProvider {
	return sdk.NewTracerProvider(
		sdk.WithBatcher(to),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(share))),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "jeton-gateway"), attribute.String("service.instance.id", name),
		)),
	)
}

// close sends what is left until ctx ends, and stops. The error is ErrSpansLost.
func (t *tracing) close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	defer t.cut()
	stop := context.AfterFunc(ctx, t.cut)
	defer stop()
	err := t.shutdown(context.WithoutCancel(ctx)) // which waits for what is being sent
	if err != nil || t.exporter.failing.Load() {
		return errors.Join(ErrSpansLost, err)
	}
	return nil
}

// An exporter logs once when the collector refuses spans, and once when it accepts them again. It hides the errors from the SDK,
// which would log each one: a collector that is down for a night is one line in the log.
type exporter struct {
	sdk.SpanExporter
	log      *slog.Logger
	failures prometheus.Counter
	atEnd    func(cut func()) (stop func() bool) // calls cut when nothing shall be sent any more
	failing  atomic.Bool
}

// newExporter sends to another exporter until life ends.
func newExporter(life context.Context, to sdk.SpanExporter, log *slog.Logger, failures prometheus.Counter) *exporter {
	atEnd := func(cut func()) func() bool { return context.AfterFunc(life, cut) }
	return &exporter{SpanExporter: to, log: log, failures: failures, atEnd: atEnd}
}

// ExportSpans implements [sdk.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	stop := e.atEnd(cut)
	defer stop()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil:
		e.failures.Inc()
		if !e.failing.Swap(true) {
			e.log.WarnContext(ctx, "the collector does not accept spans; they are lost until it does", "error", err)
		}
	case e.failing.Swap(false):
		e.log.InfoContext(ctx, "the collector accepts spans again")
	}
	return nil // logged above
}
