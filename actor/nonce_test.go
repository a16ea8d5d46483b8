package actor

import (
	"sync"
	"testing"
)

// However many draw at once, no number comes twice, and every bit is set as often as not.
func TestNonces(t *testing.T) {
	const each, many = 10_000, 8
	var (
		n    nonces
		wait sync.WaitGroup
		all  [many][]uint64
	)
	for i := range many {
		wait.Go(func() {
			for range each {
				all[i] = append(all[i], n.next())
			}
		})
	}
	wait.Wait()
	seen, ones := map[uint64]bool{}, [64]int{}
	for _, list := range all {
		for _, x := range list {
			if seen[x] {
				t.Fatalf("%x was drawn twice", x)
			}
			seen[x] = true
			for bit := range ones {
				ones[bit] += int(x >> bit & 1)
			}
		}
	}
	for bit, n := range ones {
		if n < each*many*45/100 || n > each*many*55/100 { // 28 standard deviations
			t.Errorf("bit %d is set in %d of %d", bit, n, each*many)
		}
	}
}

func BenchmarkNonce(b *testing.B) {
	var n nonces
	b.ReportAllocs()
	for b.Loop() {
		n.next()
	}
}
