package client

import (
	"context"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// BenchmarkWay is what it costs to find the node for a check and to follow how it does, beside asking it.
func BenchmarkWay(b *testing.B) {
	c, err := New(Config{Server: "127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	c.awake.Do(func() {}) // nobody is there who could be watched
	b.ReportAllocs()
	for b.Loop() {
		_, err := walk(c.start(b.Context(), "user:42"), func(context.Context, *node) (limit.Decision, error) {
			return limit.Decision{Allowed: true}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
