package actor

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// BenchmarkMailbox reports what the way through a System costs, with a decision from memory at its end: one caller finds
// the shard at rest and runs its round himself; of sixteen who ask for the same keys, most leave their mail to another.
func BenchmarkMailbox(b *testing.B) {
	b.Run("1 caller", func(b *testing.B) {
		s := start(b, Config{
			Replicas: []Replica{open(b, storage.Config{})}, IdleAfter: time.Hour, Limits: fixed(document(b, hot)),
		})
		requests, ctx, n := requestsOf(100, 1, "x"), b.Context(), 0
		for _, r := range requests { // wake them
			decide(b, s, r)
		}
		b.ReportAllocs()
		for b.Loop() {
			if d, err := s.Check(ctx, requests[n%len(requests)]); err != nil || !d.Allowed {
				b.Fatalf("%+v, %v", d, err)
			}
			n++
		}
	})
	b.Run("16 callers", func(b *testing.B) { benchmark(b, requestsOf(100, 1, "x"), true) })
}
