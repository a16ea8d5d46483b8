package ring_test

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// table is one whose partitions are in the first epoch.
func table(written string) *ring.Table {
	t := new(ring.Table)
	for _, set := range sets(written) {
		t.Places = append(t.Places, ring.Place{Epoch: ring.FirstEpoch, Replicas: set})
	}
	return t
}

func TestPlannedIsWhatComes(t *testing.T) {
	moving := table("abc abc abc")
	moving.Places[1].Next = sets("abd")[0]
	moving.Places[2].Target = sets("abe")[0]
	if got := names(moving.Planned()); got != "abc abd abe" {
		t.Errorf("planned is %s", got)
	}
	if got := names(moving.Sets()); got != "abc abc abc" {
		t.Errorf("the sets are %s", got)
	}
}
