package kuadrant_test

import (
	"context"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
)

// BenchmarkCalls calls a door without a network: what it costs beside the decision, which is one on a register in memory.
func BenchmarkCalls(b *testing.B) {
	door, err := kuadrant.New(kuadrant.Config{Limiter: doorstest.NewSystem(b, ""), Path: write(b, one("1000000000"))})
	if err != nil {
		b.Fatal(err)
	}
	var r registrar
	door.Register(&r)
	ctx := context.Background()
	request := &ratelimitv3.RateLimitRequest{Domain: "ns", Descriptors: descriptors(alice)}
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.service.CheckRateLimit(ctx, request); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("report", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.service.Report(ctx, request); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reserve and commit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			held, err := r.service.Reserve(ctx, &kuadrantpb.ReserveRequest{Domain: "ns", Descriptors: request.GetDescriptors(), Amount: 100})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.service.Commit(ctx, &kuadrantpb.CommitRequest{Domain: "ns", Descriptors: request.GetDescriptors(), ReservationId: held.GetReservationId(), ActualAmount: 50}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
