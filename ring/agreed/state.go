package agreed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/level"
)

// A State is what the nodes of a cluster have agreed on. It never changes: every command that takes effect makes another
// one. The zero State is that of a cluster that is not founded yet.
type State struct {
	// Version goes up by one with every command that takes effect. A forced recovery of raft raises it beyond every version that
	// the lost nodes can have reached. 0 before the cluster is founded.
	Version uint64 `json:"version"`
	// Cluster is drawn when the cluster is founded.
	Cluster Unique `json:"cluster"`
	// Partitions is how many partitions there are, fixed when the cluster is founded.
	Partitions int `json:"partitions"`
	// Replicas is how many replicas each partition is to have once there are that many nodes: 1, 3 or 5.
	Replicas int `json:"replicas"`
	// Nodes are the members.
	Nodes map[ring.NodeID]Node `json:"nodes"`
	// Removed are the ids that were members once and are refused for ever, with the names that they had.
	Removed map[ring.NodeID]string `json:"removed"`
	// Table says where each partition is; nil before the cluster is founded.
	Table *ring.Table `json:"table"`
	// Limits is the limits document, opaque to this package.
	Limits Document `json:"limits"`
	// LimitsVersion goes up by one with every change of Limits, from 1 on.
	LimitsVersion uint64 `json:"limits_version"`
	// History is the last versions of the limits, the oldest first: at most MaxEditions and MaxHistory. The last one is that in
	// force, once a command of a release that keeps it has set it.
	History []Edition `json:"history,omitempty"`
	// Earlier says how far ahead line can be reserved under numbers that limits had before, by limit, as long as some of it may lie ahead.
	Earlier map[string]Earlier `json:"earlier,omitempty"`
	// Overrides are those that operators have set; nil for none.
	Overrides *Overrides `json:"overrides,omitempty"`
	// Audit is the last things that operators have done, the oldest first: at most MaxEntries.
	Audit []Entry `json:"audit,omitempty"`
	// Level is what nodes may say and write: see package level. 0 means level.First; AgreedLevel tells.
	Level int `json:"level,omitempty" level:"2"`
}

// A Node is a member of the cluster, with the addresses (host:port) at which the others reach it.
type Node struct {
	ID     ring.NodeID `json:"id"`
	Name   string      `json:"name"` // what operators call it; no two members have the same
	Zone   string      `json:"zone,omitempty"`
	GRPC   string      `json:"grpc"`
	HTTP   string      `json:"http"`
	Gossip string      `json:"gossip"`
	Raft   string      `json:"raft"`
	// Draining says that the node is to be emptied, and is given no partitions.
	Draining bool `json:"draining,omitempty"`
	// Mark is the highest mark that the node has raised here, by the process Process.
	Mark    Mark   `json:"mark"`
	Process Unique `json:"process"`
	// Leaving says that the node is about to stop. It is heard by gossip, not agreed.
	Leaving bool `json:"-"`
}

// Founded says whether there is a cluster.
func (s *State) Founded() bool { return s.Version > 0 }

// AgreedLevel is the level of the cluster, level.First before it is founded.
func (s *State) AgreedLevel() int { return max(s.Level, level.First) }

// Named is the member with that name.
func (s *State) Named(name string) (Node, bool) {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}

// Members are the nodes that may be given partitions, by id: all that are not draining.
func (s *State) Members() []ring.Member {
	var members []ring.Member
	for id, n := range s.Nodes {
		if !n.Draining {
			members = append(members, ring.Member{ID: id, Zone: n.Zone})
		}
	}
	slices.SortFunc(members, func(a, b ring.Member) int { return a.ID.Compare(b.ID) })
	return members
}

// Find is the member with that name or id. For the name or id of a removed node it returns an error and a Node with only the id.
func (s *State) Find(node string) (Node, error) {
	if n, known := s.Named(node); known {
		return n, nil
	}
	id, err := ring.ParseNodeID(node)
	if n, known := s.Nodes[id]; known && err == nil {
		return n, nil
	}
	for gone, name := range s.Removed {
		if name == node {
			id = gone
		}
	}
	return Node{ID: id}, fmt.Errorf("%w: %q; give a node's name, or its id in hexadecimal", ErrUnknownNode, node)
}

// Kept is how many partitions a node still keeps, or is to get.
func (s *State) Kept(id ring.NodeID) (n int) {
	for i := range s.Table.Places {
		if p := &s.Table.Places[i]; p.Has(id) || slices.Contains(p.Next, id) || slices.Contains(p.Target, id) {
			n++
		}
	}
	return n
}

// Describe is a replica set as people read it: the names of its nodes.
func (s *State) Describe(set []ring.NodeID) string {
	names := make([]string, 0, len(set))
	for _, id := range set {
		if n, member := s.Nodes[id]; member {
			names = append(names, n.Name)
			continue
		}
		names = append(names, id.String())
	}
	return strings.Join(names, " ")
}

// countMembers counts the ids that are members.
func (s *State) countMembers(ids []ring.NodeID) (count int) {
	for _, id := range ids {
		if _, ok := s.Nodes[id]; ok {
			count++
		}
	}
	return count
}

// draft is a copy of s with the next version whose maps may be changed.
func (s *State) draft() *State {
	next := *s
	next.Version++
	next.Nodes, next.Removed = maps.Clone(s.Nodes), maps.Clone(s.Removed)
	return &next
}

// draftTable is draft, with places that may be replaced. The slices in them stay shared: they are never written.
func (s *State) draftTable() *State {
	next := s.draft()
	next.Table = &ring.Table{Places: slices.Clone(s.Table.Places)}
	return next
}
