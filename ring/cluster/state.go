package cluster

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// A State is what the nodes of a cluster have agreed on. It never changes: every command that takes effect makes another
// one. The zero State is that of a cluster that is not founded yet.
type State struct {
	// Version goes up by one with every command that takes effect, and beyond all that those who are lost can have told with a
	// forced recovery of raft; 0 before the cluster is founded.
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

// A Mark tells how new a disk is: how often its store was opened, and the minute of its clock that it noted last. A disk
// whose mark is below one that its node has raised is an old copy.
type Mark struct {
	Boot   uint64 `json:"boot"`
	Minute int64  `json:"minute"`
}

// Compare orders marks: boots first, then minutes.
func (m Mark) Compare(other Mark) int {
	switch {
	case m.Boot != other.Boot && m.Boot < other.Boot, m.Boot == other.Boot && m.Minute < other.Minute:
		return -1
	case m == other:
		return 0
	}
	return 1
}

// String is the mark as people read it.
func (m Mark) String() string { return fmt.Sprintf("boot %d, minute %d", m.Boot, m.Minute) }

// A Unique is 128 random bits: the name of a cluster or of a process. Its text is hexadecimal.
type Unique [16]byte

// String is the bits in hexadecimal.
func (u Unique) String() string { return hex.EncodeToString(u[:]) }

// MarshalText is String.
func (u Unique) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (u *Unique) UnmarshalText(text []byte) error {
	id, err := ring.ParseNodeID(string(text))
	if err != nil {
		return fmt.Errorf("%q is no name of a cluster or process: it has 32 hexadecimal digits", text)
	}
	*u = Unique(id)
	return nil
}

// A Document is a text that this package keeps and does not read.
type Document []byte

// MarshalText is the document.
func (d Document) MarshalText() ([]byte, error) { return d, nil }

// UnmarshalText copies the text.
func (d *Document) UnmarshalText(text []byte) error {
	*d = slices.Clone(text)
	return nil
}

// Founded says whether there is a cluster.
func (s *State) Founded() bool { return s.Version > 0 }

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

// present counts the ids that are members.
func (s *State) present(ids []ring.NodeID) (count int) {
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
