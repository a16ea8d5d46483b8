package nodes

import (
	"errors"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Apply puts the table of a view in force, and says whether it did: an older one is ignored. Nodes that are in it no more are given
// up once their calls have been answered.
func (s *Set) Apply(v *pb.View) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.table.Load().newer(v) {
		return false
	}
	t := &table{known: true, version: v.Version, cluster: v.Cluster, places: make([][]Seat, len(v.Table.Places))}
	seats := make(map[ring.NodeID]Seat, len(v.Nodes))
	used := make(map[*Node]bool, len(v.Nodes))
	for _, member := range v.Nodes {
		n, err := s.memberLocked(member)
		if err != nil {
			continue // it has no address to connect to
		}
		seat := Seat{Node: n, Leaving: member.Leaving}
		seats[member.ID], used[n] = seat, true
		t.all = append(t.all, seat)
	}
	for p, place := range v.Table.Places {
		order := make([]Seat, 0, len(place.Replicas))
		for _, id := range place.Replicas {
			if seat, ok := seats[id]; ok {
				order = append(order, seat)
			}
		}
		t.places[p] = order
	}
	s.table.Store(t)
	for _, n := range s.servers {
		used[n] = true
	}
	for address, n := range s.nodes {
		if !used[n] {
			delete(s.nodes, address)
			s.retireLocked(n)
		}
	}
	return true
}

// memberLocked is the node that a member stands for.
func (s *Set) memberLocked(member pb.Node) (*Node, error) {
	switch {
	case s.own != nil && member.ID == s.cfg.Own.ID:
		return s.own, nil
	case member.GRPC == "":
		return nil, errors.New("no address")
	}
	return s.reachLocked(member.GRPC)
}
