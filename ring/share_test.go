package ring_test

import (
	"maps"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

func TestSharesCountPlaces(t *testing.T) {
	want := map[ring.NodeID]ring.Share{id(1): {Owner: 2, Replica: 3}, id(2): {Owner: 1, Replica: 2}, id(3): {Replica: 1}}
	if got := ring.Shares(table("ab a bca")); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := ring.Shares(nil); len(got) != 0 {
		t.Errorf("got %v of no table", got)
	}
}
