package rpc

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// An unspeakable error panics as it is put into words.
type unspeakable struct{}

func (unspeakable) Error() string { panic("a bug") }

// A panic ends the call, wherever it happens.
func TestErrorThatPanics(t *testing.T) {
	s := &Server{limiter: observed(t, ObservedConfig{}), metrics: newServerMetrics(), log: logger(nil)}
	_, err := s.intercept(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/x/y"}, func(context.Context, any) (any, error) {
		return nil, unspeakable{}
	})
	if status.Code(err) != codes.Internal {
		t.Errorf("a call ends with %v, want %v", err, codes.Internal)
	}
	err = s.recoverStream(nil, bareStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: "/x/y"}, func(any, grpc.ServerStream) error {
		return unspeakable{}
	})
	if status.Code(err) != codes.Internal {
		t.Errorf("a stream ends with %v, want %v", err, codes.Internal)
	}
}

// A bareStream is a stream with a context alone.
type bareStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out
}

func (s bareStream) Context() context.Context { return s.ctx }

// TestCallNamesTrace has a call name its trace beside how long it took, if the trace is sampled.
func TestCallNamesTrace(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := &Server{limiter: observed(t, ObservedConfig{}), metrics: newServerMetrics(), log: logger(nil)}
	reg.MustRegister(s.metrics.collectors()...)
	for id, flags := range map[byte]trace.TraceFlags{1: 0, 2: trace.FlagsSampled} {
		ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{id}, SpanID: trace.SpanID{1}, TraceFlags: flags,
		}))
		_, err := s.intercept(ctx, nil, &grpc.UnaryServerInfo{FullMethod: pb.Limiter_Check_FullMethodName}, func(context.Context, any) (any, error) { return new(pb.CheckResponse), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if traces := metricstest.Exemplars(t, reg)["jeton_rpc_seconds"]; len(traces) != 1 || traces[0] != (trace.TraceID{2}).String() {
		t.Errorf("beside the latency are the traces %q", traces)
	}
}
