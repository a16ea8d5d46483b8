package gateway_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/fallback"
)

// service answers the calls that pass.
type service struct {
	healthpb.UnimplementedHealthServer
}

func (service) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (service) Watch(_ *healthpb.HealthCheckRequest, s grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	return s.Send(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING})
}

// dialService serves a gRPC service behind the gateway of a rig.
func dialService(t *testing.T, r *rig) healthpb.HealthClient {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(gateway.UnaryInterceptor(r.gateway)), grpc.StreamInterceptor(gateway.StreamInterceptor(r.gateway)))
	healthpb.RegisterHealthServer(s, service{})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return healthpb.NewHealthClient(conn)
}

func TestInterceptors(t *testing.T) {
	r := newRig(t, `
routes:
- {name: check, path: /grpc.health.v1.Health/Check, checks: [{key: ["user:{header.X-User}"], limits: [two]}]}
- {name: watch, path: /grpc.health.v1.Health/Watch, checks: [{limits: [strict]}]}
`)
	c := dialService(t, r)
	call := func(user string) (header, trailer metadata.MD, err error) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-user", user)
		_, err = c.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
		return header, trailer, err
	}
	for i := range 2 {
		header, _, err := call("a")
		if err != nil || len(header.Get("ratelimit")) != 1 || len(header.Get("ratelimit-policy")) != 1 {
			t.Errorf("call %d: %v, %v", i+1, header, err)
		}
	}
	_, trailer, err := call("a")
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "two is exhausted") {
		t.Errorf("the third one: %v", err)
	}
	if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != "60000" {
		t.Errorf("trailer %v", trailer)
	}
	if _, _, err := call("b"); err != nil {
		t.Error(err)
	}
	if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
	watch := func() error {
		s, err := c.Watch(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			return err
		}
		_, err = s.Recv()
		return err
	}
	if err := watch(); err != nil {
		t.Error(err)
	}
	if err := watch(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the second stream: %v", err)
	}
	r.breakDown(limit.ErrUnavailable)
	r.pass(fallback.MaxKnown)
	if err := watch(); status.Code(err) != codes.Unavailable {
		t.Errorf("without a decision: %v", err)
	}
}
