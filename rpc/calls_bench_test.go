package rpc

import (
	"strconv"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// BenchmarkCheck measures one call after the other, and BenchmarkCheckBatch full batches, both over loopback and
// decided by nobody.
func BenchmarkCheck(b *testing.B) {
	_, conn := serve(b, Config{Limiter: conformance.Stub{}})
	client := pb.NewLimiterClient(conn)
	m := checkMessage("user:42")
	b.ReportAllocs()
	b.RunParallel(func(loop *testing.PB) {
		for loop.Next() {
			if _, err := client.Check(b.Context(), m); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkCheckBatch(b *testing.B) {
	_, conn := serve(b, Config{Limiter: conformance.Stub{}})
	client := pb.NewLimiterClient(conn)
	m := &pb.CheckBatchRequest{}
	for i := range limit.MaxBatch {
		m.Checks = append(m.Checks, checkMessage(strconv.Itoa(i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.CheckBatch(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*limit.MaxBatch), "ns/check")
}
