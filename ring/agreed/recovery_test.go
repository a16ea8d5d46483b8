package agreed_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

// Who is left and what is lost, and what follows.
func TestPlanRecovery(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(5))
	set := func(p int, replicas ...int) {
		s.Table.Places[p] = ring.Place{Epoch: 7, Replicas: agreedtest.IDs(replicas...)}
	}
	set(0, 1, 2, 3)
	set(1, 1, 2, 4)
	set(2, 1, 4, 5)
	set(3, 3, 4, 5)
	epochs := []uint64{7, 7, 8, 2_000_003}
	gone := map[ring.NodeID]agreed.Node{}
	for _, n := range []int{4, 5, 9} { // 9 is no member
		gone[agreedtest.ID(n)] = agreedtest.Node(n)
	}
	for raftLost, want := range map[bool]struct {
		done   agreed.Recovery
		floors map[ring.Partition]uint64
	}{
		false: {agreed.Recovery{Floored: 2, Moved: 1}, map[ring.Partition]uint64{2: 1_000_000, 3: 3_000_000}},
		true:  {agreed.Recovery{Floored: 4}, map[ring.Partition]uint64{0: 1_000_000, 1: 1_000_000, 2: 1_000_000, 3: 3_000_000}},
	} {
		what, did, err := agreed.PlanRecovery(s, gone, epochs, raftLost)
		if err != nil {
			t.Fatal(err)
		}
		floors := map[ring.Partition]uint64{}
		for _, place := range what.Places {
			floors[place.Partition] = place.Epoch
			if slices.ContainsFunc(place.Replicas, func(id ring.NodeID) bool { _, lost := gone[id]; return lost }) {
				t.Errorf("partition %d goes to a node that is lost", place.Partition)
			}
		}
		if did != want.done || !maps.Equal(floors, want.floors) || what.Raft != raftLost {
			t.Errorf("raft lost %v: %+v, floors %v, %+v", raftLost, did, floors, what)
		}
		if !slices.Equal(what.Lost, agreedtest.IDs(4, 5)) {
			t.Fatalf("raft lost %v: removed %v", raftLost, what.Lost)
		}
		done(t, s, agreed.Command{Recover: what})
	}
}
