package limit_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// BenchmarkDefined validates a request that defines its limit.
func BenchmarkDefined(b *testing.B) {
	r := limit.Request{Key: "user:42", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "mine", Capacity: 6000, Refill: limit.Refill{Tokens: 6000, Per: time.Minute}})}}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
