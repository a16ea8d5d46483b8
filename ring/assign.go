package ring

import (
	"fmt"
	"slices"
)

// maxPartitions is as many as a [Partition] can number.
const maxPartitions = 1 << 16

// Assign computes the replica set of every partition for these members, with as few moves as possible from current, which
// is empty when a cluster is founded. The result depends on the arguments only, not on the order of members, and shares no
// memory with them. If current is acceptable, the result is current.
//
// An assignment is acceptable if:
//   - every set has that many replicas, all of them members;
//   - no two of a set stand in one zone, while there are as many zones as replicas (a member without a zone is one of its
//     own);
//   - every member has its fair share ± 25 % (or ± 1, where that is more) of all replicas, and of the first places, the
//     owners'. The fair share is the mean; only the nodes of a zone that is too large to be put to use without two of
//     them in one set have less, and the others more.
//
// With fewer zones than replicas even shares come first: new replicas are put in other zones as far as there is a choice,
// and none is moved because of its zone.
//
// current may name nodes that are no longer members, and its sets may be too small or too large. A new member takes over
// the places of one that is gone. It is an error if there are fewer members than replicas, if an id occurs twice among the
// members or in one set, or if current has another number of partitions, which are 1 to 65536.
func Assign(current [][]NodeID, members []Member, partitions, replicas int) ([][]NodeID, error) {
	if err := checkAssign(current, members, partitions, replicas); err != nil {
		return nil, err
	}
	members = slices.SortedFunc(slices.Values(members), compareMembers)
	l := newLayout(members, partitions, replicas)
	founding := !slices.ContainsFunc(current, func(set []NodeID) bool { return len(set) > 0 })
	if founding {
		l.propose(members)
	} else {
		l.adopt(current, members)
		l.trim()
	}
	l.fill()
	l.unzone()
	for _, tight := range []bool{true, false} {
		if founding || !tight { // a new cluster can be exactly even, since nothing moves
			l.replicaScale(tight).even()
			l.ownerScale(tight).even()
		}
	}

	sets := make([][]NodeID, partitions)
	for p, set := range l.sets {
		for _, n := range set {
			sets[p] = append(sets[p], members[n].ID)
		}
	}
	return sets, nil
}

func checkAssign(current [][]NodeID, members []Member, partitions, replicas int) error {
	switch {
	case partitions < 1 || partitions > maxPartitions:
		return fmt.Errorf("%d partitions: a cluster has 1 to %d", partitions, maxPartitions)
	case replicas < 1:
		return fmt.Errorf("%d replicas of each partition: at least 1 is needed", replicas)
	case len(members) < replicas:
		return fmt.Errorf("%d replicas of each partition need as many nodes, and there are %d", replicas, len(members))
	case len(current) > 0 && len(current) != partitions:
		return fmt.Errorf("the present assignment has %d partitions, not %d: the number cannot be changed", len(current), partitions)
	}
	ids := make([]NodeID, 0, len(members))
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	if id, twice := repeated(ids); twice {
		return fmt.Errorf("node %s is named twice among the members", id)
	}
	for p, set := range current {
		if id, twice := repeated(set); twice {
			return fmt.Errorf("node %s is named twice in partition %d", id, p)
		}
	}
	return nil
}

// repeated finds an id that occurs more than once.
func repeated(ids []NodeID) (NodeID, bool) {
	sorted := slices.SortedFunc(slices.Values(ids), NodeID.Compare)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return NodeID{}, false
}
