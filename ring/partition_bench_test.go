package ring_test

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// BenchmarkPlace measures how long it takes to find where a key of 16 bytes lives.
func BenchmarkPlace(b *testing.B) {
	keys := [...]string{"user:00000000042", "user:00000004711", "user:00000031415", "user:00000065537"}
	n, sum := 0, ring.Partition(0)
	b.ReportAllocs()
	for b.Loop() {
		sum += ring.PartitionOf(ring.Hash(keys[n%len(keys)]), ring.DefaultPartitions)
		n++
	}
	if n >= len(keys) && sum == 0 { // so that nothing is left out
		b.Error("every key is in partition 0")
	}
}

func TestPlacingTakesNoMemory(t *testing.T) {
	allocs := testing.AllocsPerRun(1000, func() {
		if ring.PartitionOf(ring.Hash("user:42"), ring.DefaultPartitions) != 195 {
			t.Error("misplaced")
		}
	})
	if allocs > 0 {
		t.Errorf("it takes memory %v times", allocs)
	}
}
