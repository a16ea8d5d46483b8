package agreed

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// A Recovery is what a forced recovery has done.
type Recovery struct {
	Floored int `json:"floored"` // partitions of which too little is known: they begin again with a floor
	Moved   int `json:"moved"`   // partitions that have lost some replicas: they move to other nodes, and nothing is forgotten
}

// PlanRecovery assigns the partitions that begin anew to surviving nodes: all partitions if raft has lost its majority, otherwise
// those that keep too few replicas. Those of gone who are no members are removed from nothing. It is pure.
//
// With raft's majority lost, counting the surviving replicas proves nothing, not even where all survive: the lost nodes may have
// agreed on another replica set, in an epoch that no survivor has heard of.
func PlanRecovery(s *State, gone map[ring.NodeID]Node, epochs []uint64, raftLost bool) (*Recover, Recovery, error) {
	var members []ring.Member
	what := &Recover{Raft: raftLost}
	for id, n := range s.Nodes {
		if _, lost := gone[id]; lost {
			what.Lost = append(what.Lost, id)
		} else {
			members = append(members, ring.Member{ID: id, Zone: n.Zone})
		}
	}
	slices.SortFunc(what.Lost, ring.NodeID.Compare)
	current := s.Table.Sets()
	sets, err := ring.Assign(current, members, len(current), ring.Replication(len(members), s.Replicas))
	if err != nil {
		return nil, Recovery{}, err
	}
	var done Recovery
	for p, place := range s.Table.Places {
		left := 0
		for _, id := range place.Replicas {
			_, member := s.Nodes[id]
			if _, lost := gone[id]; member && !lost {
				left++
			}
		}
		switch {
		case raftLost || left < ring.Enough(len(place.Replicas)):
			what.Places = append(what.Places, Change{Partition: ring.Partition(p), Epoch: ring.Recovered(epochs[p]), Replicas: sets[p]})
			done.Floored++
		case left < len(place.Replicas):
			done.Moved++
		}
	}
	return what, done, nil
}
