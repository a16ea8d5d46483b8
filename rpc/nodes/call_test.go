package nodes

import (
	"context"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// BenchmarkCall is what it costs to find the node for a check and to follow how it does, beside asking it.
func BenchmarkCall(b *testing.B) {
	s, err := New(Config{Servers: []string{"127.0.0.1:1"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	b.ReportAllocs()
	for b.Loop() {
		_, err := do(s.call(b.Context(), "user:42"), func(context.Context, *Node) (limit.Decision, error) {
			return limit.Decision{Allowed: true}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
