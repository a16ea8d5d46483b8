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
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// Deciding says for which keys this node knows of a node that can decide.
func (c *Cluster) Deciding() ring.Deciding { return c.health.Deciding() }

// What a Status is made of is elsewhere, so that a program that reads it links no raft and no gossip.
type (
	// A Status is the cluster as one node sees it.
	Status = status.Status
	// A NodeStatus is one member.
	NodeStatus = status.NodeStatus
	// A Progress is how far the changes of replica sets are that are planned or under way.
	Progress = status.Progress
)

// Status tells how the cluster is, as this node sees it. It asks the leader about the moves, for a second at most, and not
// while so few voters answer that there can be none.
func (c *Cluster) Status(ctx context.Context) Status {
	s, known := c.State(), c.health.Heard()
	leader, _, led := c.agreement.Leader()
	told := Status{
		Cluster: c.identity.Cluster(), Node: c.config.Name, Waits: c.Waits(), Version: s.Version, Removed: s.Removed, Partitions: s.Partitions,
		Replicas: ring.Replication(len(s.Members()), s.Replicas), Wanted: s.Replicas,
		Moves: movesOf(s), LimitsVersion: s.LimitsVersion, Level: s.AgreedLevel(), Deciding: c.health.DecidingIn(s, known),
	}
	if led {
		told.Leader = s.Nodes[leader].Name
	}
	if s.Table != nil {
		for _, place := range s.Table.Places {
			told.HighestEpoch = max(told.HighestEpoch, place.Epoch)
			if told.LowestEpoch == 0 || place.Epoch < told.LowestEpoch {
				told.LowestEpoch = place.Epoch
			}
			if place.Floored {
				told.Floored++
			}
		}
	}
	roles, shares := c.roles(), ring.Shares(s.Table)
	for id, n := range s.Nodes {
		told.Nodes = append(told.Nodes, c.nodeStatus(n, known[id], roles[id], shares[id]))
	}
	slices.SortFunc(told.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	told.Raise = raisable(&told)
	for _, k := range c.gossip.KeptOut() {
		told.KeptOut = append(told.KeptOut, status.KeptOut{Name: k.Name, Gossip: k.Address, Cluster: k.Cluster, Why: k.Why})
	}
	if c.mayHaveLeader(known) {
		told.Moves.Phases = c.askPhases(ctx)
	}
	return told
}

// raisable is the newest level that all members know, if each of them answers and that is above the level of the cluster; else 0.
func raisable(told *Status) int {
	most := 0
	for i, n := range told.Nodes {
		if n.Answering != health.Answers || n.Levels == nil {
			return 0
		}
		if i == 0 || n.Levels.Newest < most {
			most = n.Levels.Newest
		}
	}
	if most <= told.Level {
		return 0
	}
	return most
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
	told := NodeStatus{
		ID: n.ID, Name: n.Name, Zone: n.Zone, GRPC: n.GRPC, HTTP: n.HTTP, Gossip: n.Gossip, Raft: n.Raft,
		Alive: true, Leaving: n.Leaving, Draining: n.Draining, Role: cmp.Or(role, "none"),
		Owner: share.Owner, Replica: share.Replica, Mark: n.Mark,
		Answering: cmp.Or(h.Answering, health.Unreachable), Refuses: h.Refuses, Levels: h.Levels, Release: h.Release, Keys: h.Keys,
	}
	switch {
	case n.ID == c.config.ID:
		told.Answering, told.Refuses, told.Keys = health.Answers, c.health.Refuses(), c.keys()
		told.Levels, told.Release = &c.config.Levels, c.config.Release
	case h.Answering == health.Suspect || h.Answering == health.Unreachable:
		told.SilentSeconds = time.Since(h.Since).Round(time.Millisecond).Seconds()
	}
	if at, dead := c.gossip.DeadSince(n.ID); dead {
		told.Alive, told.DeadSeconds = false, time.Since(at).Round(time.Millisecond).Seconds()
	}
	ahead, heard := c.clocks.Of(n.ID)
	if heard || n.ID == c.config.ID {
		ms := float64(ahead) / 1e6
		told.ClockAheadMS = &ms
	}
	return told
}

// keys are the secrets of the cluster key that are in force here; nil without one.
func (c *Cluster) keys() (all []message.KeyUse) {
	if c.config.Key == nil {
		return nil
	}
	for _, u := range c.config.Key.Uses() {
		told := message.KeyUse{Name: u.Name, Connections: u.Open}
		if !u.Last.IsZero() {
			seconds := time.Since(u.Last).Round(time.Second).Seconds()
			told.UsedSeconds = &seconds
		}
		all = append(all, told)
	}
	return all
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
