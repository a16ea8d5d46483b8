package gossip

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// ProtocolVersion is the version of everything that nodes say to one another. Nodes of another one are kept out.
const ProtocolVersion = 1

// A Phase is how far a node has come.
type Phase string

// The phases of a node.
const (
	PhaseFounding Phase = "founding" // it waits for others to found a cluster with
	PhaseJoining  Phase = "joining"  // it looks for a cluster, or is about to be let in
	PhaseMember   Phase = "member"   // it is one
	PhaseLeaving  Phase = "leaving"  // it is about to stop
)

// A NodeMeta is what a node says of itself wherever gossip mentions it: JSON of at most [memberlist.MetaMaxSize] bytes.
type NodeMeta struct {
	Protocol   int    `json:"v"`
	Partitions int    `json:"p"`
	Cluster    string `json:"c,omitempty"` // in hexadecimal, once the node knows of which one it is
	Name       string `json:"n"`
	GRPC       string `json:"g"`
	Raft       string `json:"r"`
	Phase      Phase  `json:"s"`
	Expect     int    `json:"e,omitempty"` // with how many the node wants to found a cluster
	Process    string `json:"l"`           // another one after each start
}

// fits says why a node with the metadata other cannot be in the same cluster as own, or nil.
func (own NodeMeta) fits(other NodeMeta) error {
	switch {
	case other.Protocol != own.Protocol:
		return fmt.Errorf("%w: it speaks version %d of the nodes' protocol, this node version %d: run the same release on both",
			message.ErrForeign, other.Protocol, own.Protocol)
	case other.Partitions != own.Partitions:
		return fmt.Errorf("%w: it has %d partitions, this node %d: the number is fixed when a cluster is founded",
			message.ErrForeign, other.Partitions, own.Partitions)
	case own.Cluster != "" && other.Cluster != "" && other.Cluster != own.Cluster:
		return fmt.Errorf("%w: it belongs to cluster %s, this node to %s: clusters never merge; check the --join addresses",
			message.ErrForeign, other.Cluster, own.Cluster)
	}
	return nil
}

// Check says why memberlist would not carry this.
func (own NodeMeta) Check() error {
	text, err := json.Marshal(own)
	if err == nil && len(text)+len(`"c":"",`)+2*len(agreed.Unique{}) > memberlist.MetaMaxSize {
		err = fmt.Errorf("%w: the name and the addresses of this node are %d bytes too long: use a shorter --node-name or --advertise",
			agreed.ErrInvalid, len(text)+len(`"c":"",`)+2*len(agreed.Unique{})-memberlist.MetaMaxSize)
	}
	return err
}

// readMeta reads what a node says of itself.
func readMeta(n *memberlist.Node) (c NodeMeta, err error) {
	if err := json.Unmarshal(n.Meta, &c); err != nil {
		return NodeMeta{}, fmt.Errorf("%w: its metadata cannot be read: %w", message.ErrForeign, err)
	}
	return c, nil
}
