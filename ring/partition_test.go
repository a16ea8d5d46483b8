package ring_test

import (
	"fmt"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// Where a key lives must never change between versions: its registers would not be found.
func TestPartitionsOfKeysAreFixed(t *testing.T) {
	for key, want := range map[string]ring.Partition{"user:42": 195, "k": 194} {
		if got := ring.PartitionOf(ring.Hash(key), ring.DefaultPartitions); got != want {
			t.Errorf("%q is in partition %d, want %d", key, got, want)
		}
	}
}

func TestKeysSpreadOverPartitions(t *testing.T) {
	const keys = 100_000
	counts := map[ring.Partition]int{}
	for i := range keys {
		counts[ring.PartitionOf(ring.Hash(fmt.Sprint("user:", i)), ring.DefaultPartitions)]++
	}
	for p := range ring.Partition(ring.DefaultPartitions) {
		if mean := keys / ring.DefaultPartitions; counts[p] < mean/2 || counts[p] > mean*2 {
			t.Errorf("partition %d has %d keys of %d on average", p, counts[p], mean)
		}
	}
	if len(counts) != ring.DefaultPartitions {
		t.Errorf("keys are in %d partitions, want %d", len(counts), ring.DefaultPartitions)
	}
}
