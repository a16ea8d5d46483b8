package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Deciding says for which keys this node knows of a node that can decide.
func (c *Cluster) Deciding() ring.Deciding { return c.health.Deciding() }

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
	// Deciding says for which keys this node knows of a node that can decide.
	Deciding ring.Deciding `json:"deciding"`
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

// Status tells how the cluster is, as this node sees it. It asks the leader about the moves, for a second at most, and not
// while so few voters answer that there can be none.
func (c *Cluster) Status(ctx context.Context) Status {
	s, known := c.State(), c.health.Heard()
	leader, _, led := c.agreement.Leader()
	status := Status{
		Cluster: c.identity.Cluster(), Node: c.config.Name, Waits: c.Waits(), Version: s.Version, Removed: s.Removed, Partitions: s.Partitions,
		Replicas: ring.Replication(len(s.Members()), s.Replicas), Wanted: s.Replicas,
		Moves: movesOf(s), LimitsVersion: s.LimitsVersion, Deciding: c.health.DecidingIn(s, known),
	}
	if led {
		status.Leader = s.Nodes[leader].Name
	}
	if s.Table != nil {
		for _, place := range s.Table.Places {
			status.HighestEpoch = max(status.HighestEpoch, place.Epoch)
			if status.LowestEpoch == 0 || place.Epoch < status.LowestEpoch {
				status.LowestEpoch = place.Epoch
			}
			if place.Floored {
				status.Floored++
			}
		}
	}
	roles, shares := c.roles(), ring.Shares(s.Table)
	for id, n := range s.Nodes {
		status.Nodes = append(status.Nodes, c.nodeStatus(n, known[id], roles[id], shares[id]))
	}
	slices.SortFunc(status.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	if c.mayHaveLeader(known) {
		status.Moves.Phases = c.askPhases(ctx)
	}
	return status
}

// mayHaveLeader says whether a majority of the voters answers, this node included.
func (c *Cluster) mayHaveLeader(known map[ring.NodeID]health.Heard) bool {
	voters, answer := 0, 0
	for _, s := range c.agreement.Servers() {
		if !s.Voter {
			continue
		}
		voters++
		if s.ID == c.config.ID || known[s.ID].Answers() {
			answer++
		}
	}
	return answer >= ring.Majority(voters)
}

// askPhases asks the leader what is being done for the moves.
func (c *Cluster) askPhases(ctx context.Context) map[string]int {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	phases, err := message.AskLeader[map[string]int](ctx, c.leader, message.KindMoves, message.Nothing{})
	if err != nil {
		return nil
	}
	return phases
}

func (c *Cluster) answerMoves(context.Context, message.Nothing) (map[string]int, error) {
	return c.driver.Phases(), nil
}

func (c *Cluster) nodeStatus(n agreed.Node, h health.Heard, role string, share ring.Share) NodeStatus {
	status := NodeStatus{
		ID: n.ID, Name: n.Name, Zone: n.Zone, GRPC: n.GRPC, HTTP: n.HTTP, Gossip: n.Gossip, Raft: n.Raft,
		Alive: true, Leaving: n.Leaving, Draining: n.Draining, Role: cmp.Or(role, "none"),
		Owner: share.Owner, Replica: share.Replica, Mark: n.Mark,
		Answering: cmp.Or(h.Answering, health.Unreachable), Refuses: h.Refuses,
	}
	switch {
	case n.ID == c.config.ID:
		status.Answering, status.Refuses = health.Answers, c.health.Refuses()
	case h.Answering == health.Suspect || h.Answering == health.Unreachable:
		status.SilentSeconds = time.Since(h.Since).Round(time.Millisecond).Seconds()
	}
	if at, dead := c.gossip.DeadSince(n.ID); dead {
		status.Alive, status.DeadSeconds = false, time.Since(at).Round(time.Millisecond).Seconds()
	}
	ahead, heard := c.clocks.Of(n.ID)
	if heard || n.ID == c.config.ID {
		ms := float64(ahead) / 1e6
		status.ClockAheadMS = &ms
	}
	return status
}

// roles are what the nodes are in raft, as far as this node knows.
func (c *Cluster) roles() map[ring.NodeID]string {
	roles := map[ring.NodeID]string{}
	for _, s := range c.agreement.Servers() {
		roles[s.ID] = "non-voter"
		if s.Voter {
			roles[s.ID] = "voter"
		}
	}
	if leader, _, known := c.agreement.Leader(); known {
		roles[leader] = "leader"
	}
	return roles
}

// Waits says what this node waits for before it is a member of its cluster, and which addresses of --join it could not meet;
// empty where there is nothing to tell.
func (c *Cluster) Waits() string {
	select {
	case <-c.joined:
		return ""
	default:
		return c.joiner.Waits()
	}
}

// movesOf is what the table itself tells of moves.
func movesOf(s *agreed.State) (m Progress) {
	if s.Table == nil {
		return m
	}
	for _, place := range s.Table.Places {
		if place.Moving() {
			m.Left++
		}
		if len(place.Next) > 0 {
			m.UnderWay++
		}
	}
	return m
}
