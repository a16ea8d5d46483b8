package ring

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// A NodeID identifies a node: 128 random bits that are drawn when its data directory is created. A node that starts with an
// empty directory is another node.
type NodeID [16]byte

// ParseNodeID reads what [NodeID.String] writes.
func ParseNodeID(s string) (id NodeID, err error) {
	if n, err := hex.Decode(id[:], []byte(s[:min(len(s), 2*len(id))])); err != nil || n != len(id) || len(s) != 2*len(id) {
		return NodeID{}, fmt.Errorf("%q is no node id: it has 32 hexadecimal digits", s)
	}
	return id, nil
}

// String is the id in hexadecimal.
func (id NodeID) String() string { return hex.EncodeToString(id[:]) }

// At joins the id of a node and its address into one text. An address can pass to another node when machines are replaced;
// with the id, a caller does not take that one for the node it wants.
func (id NodeID) At(address string) string { return id.String() + "@" + address }

// CutNode is the inverse of [NodeID.At]. For an address alone the id is zero, which means any node at that address.
func CutNode(at string) (id NodeID, address string, err error) {
	name, address, named := strings.Cut(at, "@")
	if !named {
		return NodeID{}, at, nil
	}
	id, err = ParseNodeID(name)
	return id, address, err
}

// Compare orders ids.
func (id NodeID) Compare(other NodeID) int { return slices.Compare(id[:], other[:]) }

// MarshalText is String.
func (id NodeID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseNodeID.
func (id *NodeID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseNodeID(string(text))
	return err
}

// A Member is a node that may be given partitions.
type Member struct {
	ID   NodeID
	Zone string // nodes of one zone are likely to fail together; empty for none
}

// compareMembers orders members by their ids.
func compareMembers(a, b Member) int { return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(a.Zone, b.Zone)) }
