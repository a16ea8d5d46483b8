package rpc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/rpc/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a Server that asks l, and connects to it. Both end with the test.
func serve(tb testing.TB, cfg Config) (*Server, *grpc.ClientConn) {
	tb.Helper()
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
		if err := s.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	return s, conn
}

// wantCode fails t unless err has that code and says that.
func wantCode(t *testing.T, err error, code codes.Code, says string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %v with %q", err, code, says)
	}
}

func checkMessage(key string) *pb.CheckRequest {
	return pb.EncodeRequest(limit.Request{Key: key, Limits: []limit.Ref{limit.Named("demo")}, Cost: 1})
}

func TestNewWithout(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a server without a limiter was made")
	}
	if _, err := web.NewAPI(web.APIConfig{Limiter: conformance.Stub{}}); err == nil {
		t.Error("an API without limits was made")
	}
	reg := prometheus.NewRegistry()
	s, err := New(Config{Limiter: conformance.Stub{}, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Limiter: conformance.Stub{}, Registerer: reg}); err == nil {
		t.Error("the metrics of two servers were registered as one")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDeadlines(t *testing.T) {
	for _, test := range []struct {
		what   string
		caller time.Duration // 0: none
		most   time.Duration
	}{
		{"none", 0, defaultTime},
		{"a minute", time.Minute, maxTime},
		{"20 seconds", 20 * time.Second, 20 * time.Second},
	} {
		t.Run(test.what, func(t *testing.T) {
			var deadlines []time.Time
			var mu sync.Mutex
			_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
				deadline, _ := ctx.Deadline()
				mu.Lock()
				defer mu.Unlock()
				deadlines = append(deadlines, deadline)
				if left := time.Until(deadline); left > test.most {
					t.Errorf("a check has %v left, want at most %v", left, test.most)
				}
				return limit.Decision{}, nil
			}}})
			ctx, start := t.Context(), time.Now()
			if test.caller > 0 {
				with, cancel := context.WithTimeout(ctx, test.caller)
				defer cancel()
				ctx = with
			}
			client := pb.NewLimiterClient(conn)
			if _, err := client.Check(ctx, checkMessage("k")); err != nil {
				t.Fatal(err)
			}
			if _, err := client.CheckBatch(ctx, &pb.CheckBatchRequest{Checks: []*pb.CheckRequest{checkMessage("k")}}); err != nil {
				t.Fatal(err)
			}
			streamed(t, client, checkMessage("k"))
			if len(deadlines) != 3 {
				t.Fatalf("%d checks, want 3", len(deadlines))
			}
			if test.caller > 0 {
				deadlines = deadlines[:2] // the stream had no deadline
			}
			for _, d := range deadlines {
				if got := d.Sub(start); got < test.most {
					t.Errorf("a check ends %v after it was sent, want at least %v", got, test.most)
				}
			}
		})
	}
}

// streamed sends one check over a stream of its own and returns its answer.
func streamed(t *testing.T, client pb.LimiterClient, m *pb.CheckRequest) limit.Result {
	t.Helper()
	stream, err := client.CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: 7, Check: m}}}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.GetResults()) != 1 || answer.GetResults()[0].GetId() != 7 {
		t.Fatalf("got %v, want the answer to 7", answer)
	}
	return pb.DecodeResult(answer.GetResults()[0].GetResult())
}

// TestErrorsArrive lets the limiter meet each error, behind each call.
func TestErrorsArrive(t *testing.T) {
	for _, want := range []error{
		&limit.FieldError{Field: "key", Problem: "is empty"},
		limit.ErrUnknownLimit, limit.ErrUnknownHold, limit.ErrUnavailable, limit.ErrOverloaded,
		context.DeadlineExceeded, context.Canceled, errors.New("the disk is on fire"),
	} {
		t.Run(want.Error(), func(t *testing.T) {
			_, conn := serve(t, Config{Limiter: conformance.Stub{
				OnCheck:  func(context.Context, limit.Request) (limit.Decision, error) { return limit.Decision{}, want },
				OnReturn: func(context.Context, string, []limit.Receipt) ([]bool, error) { return nil, want },
				OnInspect: func(context.Context, string, limit.Ref, string) (limit.Inspection, error) {
					return limit.Inspection{}, want
				},
				OnReset:  func(context.Context, string, limit.Ref) error { return want },
				OnSettle: func(context.Context, limit.Settlement) (limit.Settled, error) { return limit.Settled{}, want },
			}})
			client := pb.NewLimiterClient(conn)
			_, checked := client.Check(t.Context(), checkMessage("k"))
			_, returned := client.Return(t.Context(), &pb.ReturnRequest{Key: "k"})
			_, inspected := client.Inspect(t.Context(), &pb.InspectRequest{Key: "k"})
			_, wasReset := client.Reset(t.Context(), &pb.ResetRequest{Key: "k"})
			_, settled := client.Settle(t.Context(), settleMessage("k", 1))
			for call, err := range map[string]error{"Check": checked, "Return": returned, "Inspect": inspected, "Reset": wasReset, "Settle": settled} {
				if status.Code(err) != pb.Classify(want).Code || pb.DecodeError(err).Error() != pb.DecodeError(pb.EncodeError(want).Err()).Error() {
					t.Errorf("%s: got %v, want %v", call, err, want)
				}
			}
			batch, err := client.CheckBatch(t.Context(), &pb.CheckBatchRequest{Checks: []*pb.CheckRequest{checkMessage("k")}})
			if err != nil || len(batch.GetResults()) != 1 || !strings.Contains(pb.DecodeResult(batch.GetResults()[0]).Err.Error(), want.Error()) {
				t.Errorf("CheckBatch: got %v and %v, want %v as its item's", batch, err, want)
			}
			if got := streamed(t, client, checkMessage("k")); !strings.Contains(got.Err.Error(), want.Error()) {
				t.Errorf("CheckStream: got %v, want %v", got.Err, want)
			}
		})
	}
}

func TestBadMessages(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.Stub{}})
	client := pb.NewLimiterClient(conn)
	_, err := client.CheckBatch(t.Context(), &pb.CheckBatchRequest{Checks: make([]*pb.CheckRequest, limit.MaxBatch+1)})
	wantCode(t, err, codes.InvalidArgument, "1001")
	_, err = client.Return(t.Context(), &pb.ReturnRequest{Key: "k", Receipts: []*pb.Receipt{{Owner: []byte("x")}}})
	wantCode(t, err, codes.InvalidArgument, "receipts[0].owner")
	_, err = client.Check(t.Context(), &pb.CheckRequest{Key: strings.Repeat("k", transport.MaxMessage)})
	wantCode(t, err, codes.ResourceExhausted, "larger than max")

	stream, err := client.CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.CheckStreamRequest{Checks: make([]*pb.StreamCheck, limit.MaxBatch+1)}); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.InvalidArgument, "1001")
}

func TestBatchInOrder(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		if r.Cost == 13 {
			return limit.Decision{}, limit.ErrOverloaded
		}
		return limit.Decision{Limits: []limit.Outcome{{Remaining: r.Cost}}}, nil
	}}})
	m := &pb.CheckBatchRequest{Checks: make([]*pb.CheckRequest, limit.MaxBatch)}
	for i := range m.GetChecks() {
		cost := int64(i)
		m.Checks[i] = &pb.CheckRequest{Cost: &cost}
	}
	answer, err := pb.NewLimiterClient(conn).CheckBatch(t.Context(), m)
	if err != nil || len(answer.GetResults()) != limit.MaxBatch {
		t.Fatalf("got %d answers and %v", len(answer.GetResults()), err)
	}
	for i, result := range answer.GetResults() {
		got := pb.DecodeResult(result)
		switch {
		case i == 13 && !errors.Is(got.Err, limit.ErrOverloaded):
			t.Errorf("item 13: got %+v, want %v", got, limit.ErrOverloaded)
		case i != 13 && (got.Err != nil || got.Decision.Limits[0].Remaining != int64(i)):
			t.Errorf("item %d: got %+v", i, got)
		}
	}
}

// TestPanics lets a call run into a bug: its caller gets an error, the log the stack, and the node lives on.
func TestPanics(t *testing.T) {
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	_, conn := serve(t, Config{
		Registerer: reg,
		Logger:     slog.New(slog.NewTextHandler(&log, nil)),
		Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
			if r.Key == "bug" {
				panic("index out of range")
			}
			return limit.Decision{Allowed: true}, nil
		}},
	})
	client := pb.NewLimiterClient(conn)
	_, err := client.Check(t.Context(), checkMessage("bug"))
	wantCode(t, err, codes.Internal, "index out of range")
	if got := streamed(t, client, checkMessage("bug")); status.Code(got.Err) != codes.Internal {
		t.Errorf("CheckStream: got %v", got.Err)
	}
	if _, err := client.Check(t.Context(), checkMessage("k")); err != nil {
		t.Errorf("after the panic: %v", err)
	}
	for _, m := range metricstest.Gather(t, reg, "jeton_rpc_panics_total") {
		if got := m.GetCounter().GetValue(); got != 2 {
			t.Errorf("%v panics counted, want 2", got)
		}
	}
	if text := log.String(); strings.Count(text, "TestPanics") < 2 || !strings.Contains(text, "method=/jeton.v1.Limiter/Check") {
		t.Errorf("the log does not show where:\n%s", text)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	_, conn := serve(t, Config{
		Registerer: reg,
		Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
			if r.Key == "" {
				return limit.Decision{}, limit.ValidateKey("")
			}
			return limit.Decision{}, nil
		}},
	})
	client := pb.NewLimiterClient(conn)
	for _, key := range []string{"a", "", "b"} {
		if _, err := client.Check(t.Context(), checkMessage(key)); (err != nil) != (key == "") {
			t.Errorf("key %q: %v", key, err)
		}
	}
	streamed(t, client, checkMessage("c"))
	got := map[string]uint64{}
	for _, m := range metricstest.Gather(t, reg, "jeton_rpc_seconds") {
		got[m.GetLabel()[1].GetValue()+" "+m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
	}
	want := map[string]uint64{
		"jeton.v1.Limiter/Check OK": 2, "jeton.v1.Limiter/Check InvalidArgument": 1, "jeton.v1.Limiter/CheckStream OK": 1,
	}
	for series, n := range want {
		if got[series] != n {
			t.Errorf("%s was measured %d times, want %d", series, got[series], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("measured %v, want %v", got, want)
	}
}

func TestHealthAndReflection(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.Stub{}})
	for _, service := range []string{"", "jeton.v1.Limiter"} {
		answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v and %v", service, answer, err)
		}
	}
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "jeton.v1.Limiter"},
	}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("reflection: %v and %v", answer, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("reflection answers after the end")
	}
}
