package rpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A gate holds checks until it is opened.
type gate struct {
	entered chan string // the key of each check that arrived
	open    chan struct{}
}

func newGate() gate {
	return gate{entered: make(chan string, 10_000), open: make(chan struct{})}
}

func (g gate) check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	g.entered <- r.Key
	select {
	case <-g.open:
		return limit.Decision{Allowed: true}, nil
	case <-ctx.Done():
		return limit.Decision{}, ctx.Err()
	}
}

// TestStopAnswersWhatIsUnderWay stops a server in the middle of a check, a stream and a watch of its health.
func TestStopAnswersWhatIsUnderWay(t *testing.T) {
	g := newGate()
	s, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: g.check}})
	client := pb.NewLimiterClient(conn)

	watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := watch.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("health: %v and %v", m, err)
	}
	called := make(chan error, 1)
	go func() {
		_, err := client.Check(t.Context(), checkMessage("call"))
		called <- err
	}()
	stream, err := client.CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: 1, Check: checkMessage("stream")}}}); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	<-g.entered

	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	m, err := watch.Recv()
	if err == nil && m.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING || err != nil && status.Code(err) != codes.Canceled {
		t.Errorf("while stopping the health is %v and %v, want NOT_SERVING or the end of the watch", m, err)
	}
	health, err := s.health.Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while stopping the health is %v and %v, want NOT_SERVING", health, err)
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped with checks under way: %v", err)
	default:
	}
	close(g.open)
	if err := <-called; err != nil {
		t.Errorf("the check under way: %v", err)
	}
	if m, err := stream.Recv(); err != nil || m.GetResults()[0].GetId() != 1 || !m.GetResults()[0].GetResult().GetDecision().GetAllowed() {
		t.Errorf("the streamed check under way: %v and %v", m, err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.Unavailable, "stopping")
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := client.Check(t.Context(), checkMessage("late")); status.Code(err) != codes.Unavailable {
		t.Errorf("after the stop: %v", err)
	}
}

// TestStopIsForced stops a server whose checks do not end: they are cut off, and none is left afterwards.
func TestStopIsForced(t *testing.T) {
	g := newGate()
	s, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: g.check}})
	client := pb.NewLimiterClient(conn)
	called := make(chan error, 1)
	go func() {
		_, err := client.Check(t.Context(), checkMessage("call"))
		called <- err
	}()
	stream, err := client.CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: 1, Check: checkMessage("stream")}}}); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	<-g.entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: got %v, want %v", err, context.DeadlineExceeded)
	}
	if err := <-called; status.Code(err) != codes.Unavailable {
		t.Errorf("the check that was cut off: %v", err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream that was cut off: %v", err)
	}
}

func TestStopBeforeServe(t *testing.T) {
	s, err := New(Config{Limiter: conformance.Stub{}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestMoreCallsThanWorkers lets more calls wait than there are workers: one more is answered all the same, as are the
// health protocol and a stream.
func TestMoreCallsThanWorkers(t *testing.T) {
	g := newGate()
	_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
		if r.Key == "quick" {
			return limit.Decision{Allowed: true}, nil
		}
		return g.check(ctx, r)
	}}})
	client := pb.NewLimiterClient(conn)
	called := make(chan error)
	for range 3 * workers {
		go func() {
			_, err := client.Check(t.Context(), checkMessage("waits"))
			called <- err
		}()
	}
	for range 3 * workers {
		<-g.entered // so every one of them has been started
	}
	if _, err := client.Check(t.Context(), checkMessage("quick")); err != nil {
		t.Errorf("one check more: %v", err)
	}
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	if got := streamed(t, client, checkMessage("quick")); got.Err != nil {
		t.Errorf("a stream: %v", got.Err)
	}
	close(g.open)
	for range 3 * workers {
		if err := <-called; err != nil {
			t.Error(err)
		}
	}
}
