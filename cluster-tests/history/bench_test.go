package history_test

import (
	"bytes"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// million is a history of a million calls of 1,000 keys, of which half are admitted.
func million() *history.History {
	return scene{
		seed: 1, limits: []history.Limit{token(3, 1, second)}, keys: 1000, checks: 1_000_000, every: 500_000,
		takes: 2 * millisecond, most: 1, epsilon: millisecond, returns: 0.01, failures: 0.0001,
	}.play()
}

// hotWindow is a history of 100,000 calls of one key, whose window is reset now and then.
func hotWindow() *history.History {
	return scene{
		seed: 1, limits: []history.Limit{{Name: "api", Algorithm: history.SlidingWindow, Capacity: 600, Length: 6 * second}}, keys: 1, checks: 100_000,
		every: 5 * millisecond, takes: 2 * millisecond, most: 1, epsilon: millisecond, resets: 0.0005,
	}.play()
}

func BenchmarkMillionCalls(b *testing.B) {
	h := million()
	for _, c := range history.Checkers() {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				results, err := history.Run(h, millisecond, c.Name)
				if err != nil || results[0].Found > 0 {
					b.Fatal(results, err)
				}
			}
		})
	}
	hot := hotWindow()
	b.Run("counts of a hot key", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			results, err := history.Run(hot, millisecond, "counts")
			if err != nil || results[0].Found > 0 {
				b.Fatal(results, err)
			}
		}
	})
	var file bytes.Buffer
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			file.Reset()
			w := history.NewWriter(&file)
			if err := w.Write(h); err != nil {
				b.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(file.Len()))
		for b.Loop() {
			if _, err := history.Read(bytes.NewReader(file.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
