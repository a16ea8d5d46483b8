package ring_test

import (
	"maps"
	"reflect"
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

func TestDiffNamesWhatChanged(t *testing.T) {
	before, after := table("abc abc abc abc abc abc"), table("abc acb dbc acd abc abc")
	for p := range after.Places[1:4] {
		after.Places[p+1].Epoch++
	}
	after.Places[4].Epoch = 7
	after.Places[5].Target = sets("abd")[0]
	want := []ring.Change{
		{Partition: 1, From: 1, To: 2, Gains: []ring.NodeID{}, Loses: []ring.NodeID{}, Order: true},
		{Partition: 2, From: 1, To: 2, Gains: []ring.NodeID{id(4)}, Loses: []ring.NodeID{id(1)}},
		{Partition: 3, From: 1, To: 2, Gains: []ring.NodeID{id(4)}, Loses: []ring.NodeID{id(2)}},
		{Partition: 4, From: 1, To: 7, Gains: []ring.NodeID{}, Loses: []ring.NodeID{}},
	}
	if got := ring.Diff(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if got := ring.Diff(after, after); len(got) > 0 {
		t.Errorf("a table differs from itself: %+v", got)
	}
}

func TestDiffOfNoTable(t *testing.T) {
	one := table("ab")
	gains := []ring.Change{{To: 1, Gains: sets("ab")[0]}}
	if got := ring.Diff(nil, one); !reflect.DeepEqual(got, gains) {
		t.Errorf("got %+v, want %+v", got, gains)
	}
	loses := []ring.Change{{From: 1, Loses: sets("ab")[0]}}
	if got := ring.Diff(one, nil); !reflect.DeepEqual(got, loses) {
		t.Errorf("got %+v, want %+v", got, loses)
	}
	if got := ring.Diff(nil, nil); got != nil {
		t.Errorf("got %+v of nothing", got)
	}
}

func TestSharesCountPlaces(t *testing.T) {
	want := map[ring.NodeID]ring.Share{id(1): {Owner: 2, Replica: 3}, id(2): {Owner: 1, Replica: 2}, id(3): {Replica: 1}}
	if got := ring.Shares(table("ab a bca")); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := ring.Shares(nil); len(got) != 0 {
		t.Errorf("got %v of no table", got)
	}
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
