package actor

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// callers is how many ask at once in these benchmarks, whatever the number of processors.
const callers = 16

// benchmark has callers make one check after another; each takes the requests in turn, from a place of its own.
func benchmark(b *testing.B, requests []limit.Request, allowed bool) {
	b.Helper()
	s := start(b, Config{
		Replicas: []Replica{open(b, storage.Config{})}, IdleAfter: time.Hour, Limits: fixed(document(b, hot)),
	})
	for _, r := range requests { // wake them
		decide(b, s, r)
	}
	ctx := b.Context()
	var place atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(max(callers/runtime.GOMAXPROCS(0), 1))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(place.Add(7919)); pb.Next(); i++ {
			if d, err := s.Check(ctx, requests[i%len(requests)]); err != nil || d.Allowed != allowed {
				b.Errorf("%+v, %v", d, err)
				return
			}
		}
	})
}

// hot are limits that never deny one token.
const hot = `
limits:
  x: {capacity: 1000000000, refill: 1000000000/s}
  y: {capacity: 1000000000, refill: 1000000000/s}
  z: {capacity: 1000000000, refill: 1000000000/s}
  gauged: {capacity: 1000000000, refill: 1000000000/s, gauges: 5}
`

// requestsOf are checks of n keys of 16 bytes.
func requestsOf(n int, cost int64, names ...string) []limit.Request {
	rs := make([]limit.Request, n)
	for i := range rs {
		rs[i] = spend("user:"+strconv.Itoa(10_000_000_000+i), cost, names...)
	}
	return rs
}

// BenchmarkCheck reports what a check costs that is decided from memory, by as many callers.
func BenchmarkCheck(b *testing.B) {
	b.Run("one key", func(b *testing.B) { benchmark(b, requestsOf(1, 1, "x"), true) })
	b.Run("100 keys", func(b *testing.B) { benchmark(b, requestsOf(100, 1, "x"), true) })
	b.Run("100 keys with gauges", func(b *testing.B) { benchmark(b, requestsOf(100, 1, "gauged"), true) })
	b.Run("denied", func(b *testing.B) { benchmark(b, requestsOf(10_000, 1_000_000_001, "x"), false) })
	b.Run("three limits", func(b *testing.B) { benchmark(b, requestsOf(100, 1, "x", "y", "z"), true) })
	b.Run("receipt", func(b *testing.B) {
		rs := requestsOf(100, 1, "x")
		for i := range rs {
			rs[i].Receipt = true
		}
		benchmark(b, rs, true)
	})
}

// BenchmarkHold reports what a hold and its settlement cost together, as a check of the same limit does beside them: of a line, which is
// decided from memory, by as many callers.
func BenchmarkHold(b *testing.B) {
	for _, keys := range []int{1, 100} {
		name := strconv.Itoa(keys) + " keys, "
		b.Run(name+"check", func(b *testing.B) { benchmarkHolds(b, keys, 0) })
		b.Run(name+"hold and settlement", func(b *testing.B) { benchmarkHolds(b, keys, time.Minute) })
	}
}

func benchmarkHolds(b *testing.B, keys int, hold time.Duration) {
	b.Helper()
	s := start(b, Config{
		Replicas: []Replica{open(b, storage.Config{})}, IdleAfter: time.Hour,
		Limits: fixed(document(b, "limits: {x: {capacity: 1000000000, refill: 1000000000/s, hold: 1m}}")),
	})
	requests, ctx := requestsOf(keys, 1, "x"), b.Context()
	var place atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(max(callers/runtime.GOMAXPROCS(0), 1))
	b.RunParallel(func(pb *testing.PB) {
		for i := int(place.Add(7919)); pb.Next(); i++ {
			r := requests[i%len(requests)]
			r.Hold = hold
			d, err := s.Check(ctx, r)
			if err == nil && d.Hold != nil {
				_, err = s.Settle(ctx, limit.Settlement{Hold: *d.Hold})
			}
			if err != nil || !d.Allowed {
				b.Errorf("%+v, %v", d, err)
				return
			}
		}
	})
}

// BenchmarkBatch reports what a check in a batch of 1,000 costs that is decided from memory, by one caller.
func BenchmarkBatch(b *testing.B) {
	s := start(b, Config{
		Replicas: []Replica{open(b, storage.Config{})}, IdleAfter: time.Hour, Limits: fixed(document(b, hot)),
	})
	rs := requestsOf(100, 1, "x")
	for len(rs) < limit.MaxBatch {
		rs = append(rs, rs[:100]...)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range s.CheckBatch(b.Context(), rs) {
			if r.Err != nil || !r.Decision.Allowed {
				b.Fatalf("%+v", r)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/limit.MaxBatch, "ns/check")
}

// BenchmarkCold reports what the first check of a key costs, its reservation on a disk in memory included.
func BenchmarkCold(b *testing.B) {
	s := start(b, Config{Replicas: []Replica{open(b, storage.Config{})}})
	var next atomic.Int64
	ctx := b.Context()
	b.ReportAllocs()
	b.SetParallelism(max(callers/runtime.GOMAXPROCS(0), 1))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			key := "user:" + strconv.FormatInt(10_000_000_000+next.Add(1), 10)
			if d, err := s.Check(ctx, spend(key, 1, "demo")); err != nil || !d.Allowed {
				b.Errorf("%+v, %v", d, err)
				return
			}
		}
	})
}
