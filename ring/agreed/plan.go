package agreed

import (
	"maps"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

// What the leader decides about the table, from the state and from which nodes are alive. All of this is pure.

const (
	// RemoveAfter is how long a node must be dead before the leader removes it.
	RemoveAfter = 10 * time.Minute
	// RescueAfter is how long nodes must be dead before a move that needs them is given others. It is short because no owner
	// can reserve in a sealed partition.
	RescueAfter = 5 * time.Second
)

// Dead says whether a node has been dead for at least so long.
type Dead func(id ring.NodeID, atLeast time.Duration) bool

// Plan assigns the partitions to the members so that each has its share. It returns the changes of those partitions whose replica
// set, or its order, is to differ from the current or the already planned one.
func Plan(s *State) ([]Change, error) {
	members := s.Members()
	if len(members) == 0 {
		return nil, nil // all nodes are draining: there is no node to move to
	}
	current := make([][]ring.NodeID, len(s.Table.Places))
	for p := range s.Table.Places {
		current[p] = s.Table.Places[p].Planned()
	}
	wanted, err := ring.Assign(current, members, s.Partitions, ring.Replication(len(members), s.Replicas))
	if err != nil {
		return nil, err
	}
	var changes []Change
	for p := range wanted {
		if !slices.Equal(wanted[p], current[p]) {
			changes = append(changes, Change{Partition: ring.Partition(p), Epoch: s.Table.Places[p].Epoch, Replicas: wanted[p]})
		}
	}
	return changes, nil
}

// PlanRescues are other nexts for partitions that are moving to one of whose members too many are gone. What is planned for
// them stays: once they are safe they move on.
func PlanRescues(s *State, dead Dead) []Change {
	var changes []Change
	for p := range s.Table.Places {
		place := &s.Table.Places[p]
		if len(place.Next) == 0 {
			continue
		}
		next := rescue(s, ring.Partition(p), place, dead)
		if len(next) > 0 && !slices.Equal(next, place.Next) {
			changes = append(changes, Change{Partition: ring.Partition(p), Epoch: place.Epoch, Replicas: next})
		}
	}
	return changes
}

// rescue chooses a next of nodes that are alive: those of the present next, then those that have the registers, then
// those that are planned, then others. There is none if the present one can be reached, or if too few old members are
// alive to begin an epoch at all.
func rescue(s *State, p ring.Partition, place *ring.Place, dead Dead) []ring.NodeID {
	gone := func(id ring.NodeID, atLeast time.Duration) bool {
		_, member := s.Nodes[id]
		return !member || dead(id, atLeast)
	}
	count := func(ids []ring.NodeID, atLeast time.Duration) (n int) {
		for _, id := range ids {
			if !gone(id, atLeast) {
				n++
			}
		}
		return n
	}
	if count(place.Next, RescueAfter) >= ring.Majority(len(place.Next)) ||
		count(place.Replicas, 0) < ring.Enough(len(place.Replicas)) {
		return nil
	}
	var next []ring.NodeID
	for _, id := range slices.Concat(place.Next, place.Replicas, place.Target, rotated(s.Members(), p)) {
		if len(next) < len(place.Next) && !gone(id, 0) && !slices.Contains(next, id) {
			next = append(next, id)
		}
	}
	return next[:min(len(next), ring.Replication(len(next), len(place.Next)))]
}

// rotated are the members' ids, beginning with another one for each partition.
func rotated(members []ring.Member, p ring.Partition) []ring.NodeID {
	ids := make([]ring.NodeID, 0, len(members))
	for i := range members {
		ids = append(ids, members[(i+int(p))%len(members)].ID)
	}
	return ids
}

// PlanRemoval is a node that has been dead for so long that it is to be removed: one at a time. It stays if the others could
// not keep as many replicas as there are, or if one of its partitions has too few members that are alive to be moved: then
// its registers may be needed yet.
func PlanRemoval(s *State, dead Dead) (Node, bool) {
	for _, id := range slices.SortedFunc(maps.Keys(s.Nodes), ring.NodeID.Compare) {
		if dead(id, RemoveAfter) && dispensable(s, id) && movable(s, id, dead) {
			return s.Nodes[id], true
		}
	}
	return Node{}, false
}

// dispensable says whether there can be as many replicas without a node as with it.
func dispensable(s *State, id ring.NodeID) bool {
	others := 0
	for other, n := range s.Nodes {
		if other != id && !n.Draining {
			others++
		}
	}
	most := 1
	for p := range s.Table.Places {
		most = max(most, len(s.Table.Places[p].Planned()))
	}
	return others > 0 && ring.Replication(others, s.Replicas) >= min(most, s.Replicas)
}

// movable says whether all partitions of a node can be moved without it.
func movable(s *State, id ring.NodeID, dead Dead) bool {
	for p := range s.Table.Places {
		place := &s.Table.Places[p]
		if !place.Has(id) {
			continue
		}
		alive := 0
		for _, replica := range place.Replicas {
			if _, member := s.Nodes[replica]; member && replica != id && !dead(replica, 0) {
				alive++
			}
		}
		if alive < ring.Enough(len(place.Replicas)) {
			return false
		}
	}
	return true
}
