package rls_test

import (
	"context"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// BenchmarkShouldRateLimit measures the door without a network, before a Limiter that answers at once.
func BenchmarkShouldRateLimit(b *testing.B) {
	outcomes := []limit.Outcome{{Name: "rls-day", Allowed: true, Limit: 5, Remaining: 4, ResetAfter: time.Hour}}
	decision := limit.Decision{Allowed: true, Limits: outcomes}
	all := limit.AllDecision{Allowed: true, Decisions: []limit.Decision{decision, decision, decision, decision}}
	stub := conformance.Stub{
		OnCheck: func(context.Context, limit.Request) (limit.Decision, error) { return decision, nil },
		OnAll: func(_ context.Context, rs []limit.Request) (limit.AllDecision, error) {
			return limit.AllDecision{Allowed: true, Decisions: all.Decisions[:len(rs)]}, nil
		},
	}
	door, err := rls.New(rls.Config{Limiter: stub, Directory: write(b, small)})
	if err != nil {
		b.Fatal(err)
	}
	client := direct(door)
	for name, r := range map[string]*ratelimitv3.RateLimitRequest{
		"one": request("d", "a=1"), "four": request("d", "a=1", "a=2", "a=3", "a=4"), "none": request("d", "b=1"),
	} {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.ShouldRateLimit(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
