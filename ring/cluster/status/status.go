// Package status is what a node tells of its cluster. It is a package of its own so that a program that reads it links no raft and no
// gossip. Start with [Status].
package status

import (
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// A Status is the cluster as one node sees it.
type Status struct {
	Cluster string `json:"cluster"` // its id; empty as long as this node belongs to none
	Node    string `json:"node"`    // the name of the node that tells this
	// Waits is what that node waits for before it is a member; empty for one that is.
	Waits   string `json:"waits,omitempty"`
	Version uint64 `json:"version"` // of what was agreed on
	Leader  string `json:"leader"`  // its name; empty while none is known
	// Nodes are the members by name.
	Nodes []NodeStatus `json:"nodes"`
	// Removed are the ids that were members once, with their names.
	Removed    map[ring.NodeID]string `json:"removed,omitempty"`
	Partitions int                    `json:"partitions"`
	// Replicas is how many each partition is to have; Wanted is how many it would have with more nodes.
	Replicas int `json:"replicas"`
	Wanted   int `json:"wanted_replicas"`
	// LowestEpoch and HighestEpoch are of all partitions; Floored counts those that began theirs with a floor.
	LowestEpoch   uint64   `json:"lowest_epoch"`
	HighestEpoch  uint64   `json:"highest_epoch"`
	Floored       int      `json:"floored"`
	Moves         Progress `json:"moves"`
	LimitsVersion uint64   `json:"limits_version"`
	// Level is that of the cluster, and Raise the one to which it can be raised: all members answer, and know it. Missing where there is none.
	Level int `json:"level"`
	Raise int `json:"raise,omitempty"`
	// Deciding says for which keys this node knows of a node that can decide.
	Deciding ring.Deciding `json:"deciding"`
	// KeptOut are the nodes that this node has met in the last half minute, and that cannot be in its cluster.
	KeptOut []KeptOut `json:"kept_out,omitempty"`
}

// A KeptOut is a node that cannot be in the cluster.
type KeptOut struct {
	Name   string `json:"name"`
	Gossip string `json:"gossip"`
	// Cluster is the id of the cluster that it is in; missing where it is in none.
	Cluster string `json:"cluster,omitempty"`
	Why     string `json:"why"`
}

// A NodeStatus is one member.
type NodeStatus struct {
	ID     ring.NodeID `json:"id"`
	Name   string      `json:"name"`
	Zone   string      `json:"zone,omitempty"`
	GRPC   string      `json:"grpc"`
	HTTP   string      `json:"http"`
	Gossip string      `json:"gossip"`
	Raft   string      `json:"raft"`
	// Alive: gossip has heard of it in the last seconds. DeadSeconds is for how long it has not.
	Alive       bool    `json:"alive"`
	DeadSeconds float64 `json:"dead_seconds,omitempty"`
	// Answering is whether it answers the node that tells this: up, suspect or unreachable. SilentSeconds is for how long it
	// has not. Refuses is why it decides nothing, though it answers.
	Answering     health.Answering `json:"answering"`
	SilentSeconds float64          `json:"silent_seconds,omitempty"`
	Refuses       string           `json:"refuses,omitempty"`
	Leaving       bool             `json:"leaving,omitempty"`
	Draining      bool             `json:"draining,omitempty"`
	// Role in raft: leader, voter, non-voter, or none for one that is just being added.
	Role string `json:"role"`
	// Owner and Replica are how many partitions the node is the owner of, and keeps the registers of.
	Owner   int `json:"owner"`
	Replica int `json:"replica"`
	// ClockAheadMS is how far the node's clock is ahead of that of the node that tells this; missing if it was not heard.
	ClockAheadMS *float64    `json:"clock_ahead_ms,omitempty"`
	Mark         agreed.Mark `json:"mark"`
	// Levels are those that the node knows, and Release is its release; missing while it has not told.
	Levels  *level.Range `json:"levels,omitempty"`
	Release string       `json:"release,omitempty"`
	// Keys are the secrets of the cluster key that the node accepts, the one first that it shows to others; missing without a key, and
	// where the node has not told.
	Keys []message.KeyUse `json:"keys,omitempty"`
}

// A Progress is how far the changes of replica sets are that are planned or under way.
type Progress struct {
	// Left is how many partitions have not arrived where they are to be, UnderWay how many of them are between two epochs.
	Left     int `json:"left"`
	UnderWay int `json:"under_way"`
	// Phases counts what the leader is doing for them, by what it is: copying, agreeing, sealing, installing, committing;
	// and completing, for partitions that have arrived but have a member that may lack registers. Missing if the leader
	// does not answer.
	Phases map[string]int `json:"phases,omitempty"`
}

// Why a member has not told what only the program around the cluster reads, where it has not said so itself.
const (
	NotKnown   = "it is of an older release, which does not tell what it does"
	NotReached = "it cannot be reached"
	NotInTime  = "it has not answered within half a second"
	NotProbing = "it is of an older release, which does not try to reach others"
)

// Why a port was not reached, where there are no better words.
const (
	NoAnswer = "no answer in time"
	Refused  = "the connection was refused"
)
