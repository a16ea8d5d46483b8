package gubernator

import (
	"context"
	"fmt"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// BenchmarkGetRateLimits is a call of 100 items of as many keys, at a node in memory, without the network. "door" has a decider that
// decides nothing.
func BenchmarkGetRateLimits(b *testing.B) {
	n := doorstest.NewSystem(b, "")
	for _, of := range []struct {
		name      string
		limiter   limit.Limiter
		algorithm gubernatorpb.Algorithm
	}{{"door", noop{}, token}, {"token", n, token}, {"leaky", n, leaky}} {
		b.Run(of.name, func(b *testing.B) {
			m := new(gubernatorpb.GetRateLimitsReq)
			for i := range 100 {
				m.Requests = append(m.Requests, &gubernatorpb.RateLimitReq{
					Name: "bench-" + of.name, UniqueKey: fmt.Sprint("k", i), Hits: 1, Limit: 1_000_000, Duration: 60_000, Algorithm: of.algorithm,
				})
			}
			d, err := New(Config{Limiter: of.limiter})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				got, err := d.service.GetRateLimits(b.Context(), m)
				if err != nil || got.GetResponses()[99].GetError() != "" {
					b.Fatal(got, err)
				}
			}
		})
	}
}

// noop allows all.
type noop struct{ limit.Limiter }

func (noop) CheckBatch(_ context.Context, rs []limit.Request) []limit.Result {
	results, o := make([]limit.Result, len(rs)), []limit.Outcome{{Allowed: true}}
	for i := range results {
		results[i].Decision = limit.Decision{Allowed: true, Limits: o}
	}
	return results
}
