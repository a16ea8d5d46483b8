package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

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
