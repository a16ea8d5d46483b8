package nemesis

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A quantile is never below the true one, and at most a sixteenth above it.
func TestLatencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l latencies
		var all []time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			d := time.Duration(rapid.Int64Range(0, int64(time.Hour/time.Microsecond)).Draw(t, "us")) * time.Microsecond
			l.add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			want := all[min(int(q*float64(len(all))), len(all)-1)]
			if got := l.at(q); got < want || got > want+want/16+time.Microsecond {
				t.Fatalf("at(%v) = %v, want %v", q, got, want)
			}
		}
	})
}
