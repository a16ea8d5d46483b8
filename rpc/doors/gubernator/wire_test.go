package gubernator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// dial serves a door over gRPC, with the codec of a node, and connects to it.
func dial(t *testing.T, d *Door) gubernatorpb.V1Client {
	t.Helper()
	server := grpc.NewServer(grpc.ForceServerCodecV2(transport.NewCodec()), grpc.MaxRecvMsgSize(transport.MaxMessage))
	d.Register(server)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return gubernatorpb.NewV1Client(conn)
}

// minute is the context of calls that are to be answered. Without a deadline it is the door's second, which a slow machine may miss.
func minute(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestNode has callers of two connections at a real node share a bucket, exactly.
func TestNode(t *testing.T) {
	n := doorstest.NewSystem(t, "")
	clients := []gubernatorpb.V1Client{dial(t, door(t, Config{Limiter: n})), dial(t, door(t, Config{Limiter: n}))}
	const limit, callers, items = 100, 8, 40
	ctx := minute(t)
	for _, algorithm := range []gubernatorpb.Algorithm{token, leaky} {
		var passed, denied atomic.Int64
		var wait sync.WaitGroup
		for i := range callers {
			wait.Go(func() {
				for range items / 4 {
					var m gubernatorpb.GetRateLimitsReq
					for range 4 {
						m.Requests = append(m.Requests, &gubernatorpb.RateLimitReq{
							Name: "n", UniqueKey: "k", Hits: 1, Limit: limit, Duration: 3_600_000, Algorithm: algorithm,
						})
					}
					got, err := clients[i%2].GetRateLimits(ctx, &m)
					if err != nil {
						t.Error(err)
						return
					}
					for _, r := range got.GetResponses() {
						switch {
						case r.GetError() != "":
							t.Error(r)
						case r.GetStatus() == under:
							passed.Add(1)
						default:
							denied.Add(1)
						}
					}
				}
			})
		}
		wait.Wait()
		if passed.Load() != limit || denied.Load() != callers*items-limit {
			t.Errorf("%v: %d passed and %d did not, want %d of %d", algorithm, passed.Load(), denied.Load(), limit, callers*items)
		}
	}
	if got, err := clients[0].HealthCheck(t.Context(), &gubernatorpb.HealthCheckReq{}); err != nil || got.GetStatus() != "healthy" || got.GetPeerCount() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := clients[0].LiveCheck(t.Context(), &gubernatorpb.LiveCheckReq{}); err != nil {
		t.Error(err)
	}
}

// TestWrongCalls has the errors of calls that are refused as a whole.
func TestWrongCalls(t *testing.T) {
	c := dial(t, door(t, Config{Limiter: &asked{answer: allowed}, Ready: func() error { return errors.New("it is stopping") }}))
	m := &gubernatorpb.GetRateLimitsReq{}
	for i := range 100 * gubernatorpb.MaxItems {
		m.Requests = append(m.Requests, &gubernatorpb.RateLimitReq{Hits: int64(i)})
	}
	for i := range 2 * gubernatorpb.MaxItems {
		m.Requests[i] = of(fmt.Sprint(i), 1, 0)
	}
	if _, err := c.GetRateLimits(minute(t), m); status.Code(err) != codes.OutOfRange {
		t.Errorf("with too many items: %v", err)
	}
	m.Requests = m.Requests[:gubernatorpb.MaxItems]
	if got, err := c.GetRateLimits(minute(t), m); err != nil || len(got.GetResponses()) != len(m.GetRequests()) || got.GetResponses()[999].GetStatus() != under {
		t.Errorf("with as many as there may be: %v", err)
	}
	if _, err := c.HealthCheck(t.Context(), &gubernatorpb.HealthCheckReq{}); status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "it is stopping" {
		t.Errorf("health: %v", err)
	}
}
