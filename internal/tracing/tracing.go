// Package tracing sends spans to a collector by OTLP over gRPC, for gateways and nodes. A collector that is down costs the spans that it
// does not take, one line of the log, and nothing else: what waits for it is bounded, and who is traced does not wait.
//
// Start with [Open].
package tracing

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"
)

// ErrSpansLost means that a process has stopped before the collector had taken all of its spans. Nothing else is lost.
var ErrSpansLost = errors.New("tracing: spans that were not sent are lost")

// Config says where spans go.
type Config struct {
	// Endpoint is where a collector listens for OTLP over gRPC, such as 127.0.0.1:4317. Empty sends no spans.
	Endpoint string
	// Insecure speaks plain text with the collector, in place of TLS.
	Insecure bool
	// Share is which share of the traces that begin here is sampled, 0 to 1. In those that began elsewhere, the choice made there counts, for a
	// thousand spans a second.
	Share float64
	// Often says that very many traces could begin here: one that is not sampled then costs nothing, and what is asked in it elsewhere is not
	// told so, and may begin one of its own.
	Often bool
	// Service and Instance say what sends the spans: service.name and service.instance.id.
	Service, Instance string
	// Logger gets a line when the collector is lost, and one when it is back. Required with an Endpoint.
	Logger *slog.Logger
	// Failures counts messages that the collector did not take. Required with an Endpoint.
	Failures prometheus.Counter
}

// A Tracing is where spans go; the zero value sends none.
type Tracing struct {
	provider *sdk.TracerProvider // nil for none
	made     trace.TracerProvider
	exporter *exporter
	cut      context.CancelFunc // ends what is being sent
}

// Open makes a Tracing, which is to be closed. It does not wait for the collector. The error says what is wrong in cfg.
func Open(cfg Config) (*Tracing, error) {
	if cfg.Endpoint == "" {
		return &Tracing{}, nil
	}
	secure := otlptracegrpc.WithInsecure()
	if !cfg.Insecure {
		secure = otlptracegrpc.WithTLSCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	otlp, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpoint(cfg.Endpoint), secure)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	life, cut := context.WithCancel(context.Background())
	e := newExporter(life, otlp, cfg.Logger, cfg.Failures)
	t := &Tracing{provider: newProvider(e, cfg), exporter: e, cut: cut}
	if t.made = t.provider; cfg.Often {
		t.made = rarely{of: t.provider, share: cfg.Share}
	}
	return t, nil
}

// newProvider samples a share of the traces that begin here, and keeps the choice of the others, up to so many a second.
func newProvider(to sdk.SpanExporter, cfg Config) *sdk.TracerProvider {
	first := sdk.TraceIDRatioBased(cfg.Share)
	if cfg.Often {
		first = sdk.AlwaysSample() // of those that were drawn
	}
	opened := time.Now()
	elapsed := func() time.Duration { return time.Since(opened) }
	return sdk.NewTracerProvider(
		sdk.WithBatcher(to),
		sdk.WithSampler(sdk.ParentBased(first, sdk.WithRemoteParentSampled(newAtMost(mostFromElsewhere, elapsed)))),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", cfg.Service), attribute.String("service.instance.id", cfg.Instance),
		)),
	)
}

// Provider makes spans; nil where none are sent.
func (t *Tracing) Provider() trace.TracerProvider { return t.made }

// Close sends what is left until ctx ends, and stops. The error is ErrSpansLost.
func (t *Tracing) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	defer t.cut()
	stop := context.AfterFunc(ctx, t.cut)
	defer stop()
	err := t.provider.Shutdown(context.WithoutCancel(ctx)) // which waits for what is being sent
	if err != nil || t.exporter.failing.Load() {
		return errors.Join(ErrSpansLost, err)
	}
	return nil
}
