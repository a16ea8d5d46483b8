package gossip

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

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
	// Level is that of the node's cluster, as far as it has heard, or the oldest that the node knows. A release that knows only one calls it
	// the version of the nodes' protocol, and keeps nodes of another one out.
	Level int `json:"v"`
	// Newest is the newest level that the node knows; 0 means Level.
	Newest     int    `json:"h,omitempty"`
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
	case !own.agrees(other):
		return fmt.Errorf("%w: %w", message.ErrForeign, own.levelProblem(other))
	case other.Partitions != own.Partitions:
		return fmt.Errorf("%w: it has %d partitions, this node %d: the number is fixed when a cluster is founded",
			message.ErrForeign, other.Partitions, own.Partitions)
	case own.Cluster != "" && other.Cluster != "" && other.Cluster != own.Cluster:
		return fmt.Errorf("%w: it belongs to cluster %s, this node to %s: clusters never merge; "+
			"if they are to be one, stop one of the two nodes, empty its --data, and start it with --join; if not, check the --join addresses",
			message.ErrForeign, other.Cluster, own.Cluster)
	}
	return nil
}

// Levels are those of the node that may be the cluster's.
func (own NodeMeta) Levels() level.Range {
	return level.Range{Oldest: own.Level, Newest: max(own.Newest, own.Level)}
}

// agrees says whether there is a level at which a node with the metadata other can be in the same cluster as own: that of the cluster of one
// of them, or one that both know. Members of one cluster may have heard of two levels while it is raised.
func (own NodeMeta) agrees(other NodeMeta) bool {
	a, b := own.Levels(), other.Levels()
	switch {
	case own.Cluster != "" && other.Cluster == "":
		return b.Has(own.Level)
	case own.Cluster == "" && other.Cluster != "":
		return a.Has(other.Level)
	}
	return max(a.Oldest, b.Oldest) <= min(a.Newest, b.Newest)
}

// levelProblem says why own and other do not agree, and what to do.
func (own NodeMeta) levelProblem(other NodeMeta) error {
	a, b := own.Levels(), other.Levels()
	if b.Newest < a.Oldest {
		return fmt.Errorf("it knows level %d, and this node needs %d: run the release of this node on it", b.Newest, a.Oldest)
	}
	return fmt.Errorf("it needs level %d, and this node is at %d and knows up to %d: "+
		"run its release on this node; if that is not enough, run the release between the two on all nodes and raise the level (jeton cluster upgrade)", b.Oldest, a.Oldest, a.Newest)
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
