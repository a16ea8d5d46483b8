package consensus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
)

const (
	maxVoters     = 5
	votersEvery   = time.Second      // how often the leader checks which nodes are alive
	voterPatience = 30 * time.Second // how long a voter is missed before another node votes in its stead
)

// What can be done to raft's configuration, one server at a time.
type changeKind string

const (
	addNonvoter  changeKind = "add"                     // as a server that does not vote, or give it another address
	addVoter     changeKind = "promote"                 // or give a voter another address
	demote       changeKind = "demote"                  // a voter to a server that does not vote
	drop         changeKind = "remove"                  // a server that is not a member
	transferLead changeKind = "hand over leadership to" // that server, because this node must stop voting
)

// A serverChange is one step from a configuration to the one that is wanted.
type serverChange struct {
	kind   changeKind
	server Server
}

// voterCount is how many of n nodes vote: the largest odd number up to five.
func voterCount(n int) int { return max(1, (min(n, maxVoters)-1)/2*2+1) }

// liveness is what the leader sees of the nodes.
type liveness struct {
	self    ring.NodeID
	alive   func(ring.NodeID) bool // heard of now
	missing func(ring.NodeID) bool // not heard of for a while
}

// nextServerChange is the next step that the leader takes towards this: every member of the registry is a server under its address,
// no other node is, and [voterCount] of them vote: those that do already, then nodes that are alive and not draining. No step
// leaves the voters without a majority that is alive. There is no step when nothing is to be done, or nothing can be.
func nextServerChange(servers []Server, nodes map[ring.NodeID]agreed.Node, view liveness) (serverChange, bool) {
	for _, change := range serverChanges(servers, nodes, view) {
		if view.majority(after(servers, change)) {
			return change, true
		}
	}
	return serverChange{}, false
}

// serverChanges are the steps that bring the configuration nearer, most urgent first.
func serverChanges(servers []Server, nodes map[ring.NodeID]agreed.Node, view liveness) []serverChange {
	chosen := chooseVoters(servers, nodes, view)
	var moves, additions, promotions, drops, demotions []serverChange
	known, taken := map[ring.NodeID]bool{}, map[string]bool{}
	for _, n := range nodes {
		taken[n.Raft] = true
	}
	for _, s := range servers {
		known[s.ID] = true
		node, member := nodes[s.ID]
		votes := slices.Contains(chosen, s.ID)
		here := Server{ID: s.ID, Address: node.Raft, Voter: s.Voter}
		switch {
		case member && node.Raft != s.Address && s.Voter:
			moves = append(moves, serverChange{addVoter, here})
		case member && node.Raft != s.Address:
			moves = append(moves, serverChange{addNonvoter, here})
		case s.ID == view.self && s.Voter && !votes:
			if i := view.successor(servers, chosen); i >= 0 {
				demotions = append(demotions, serverChange{transferLead, servers[i]})
			}
		case !member && taken[s.Address]: // raft takes no second server at an address, and a new disk is where the old one was
			moves = append(moves, serverChange{drop, s})
		case !member:
			drops = append(drops, serverChange{drop, s})
		case votes && !s.Voter:
			promotions = append(promotions, serverChange{addVoter, Server{ID: s.ID, Address: s.Address, Voter: true}})
		case s.Voter && !votes:
			demotions = append(demotions, serverChange{demote, Server{ID: s.ID, Address: s.Address}})
		}
	}
	for _, id := range sortedIDs(nodes) {
		if !known[id] {
			additions = append(additions, serverChange{addNonvoter, Server{ID: id, Address: nodes[id].Raft}})
		}
	}
	return slices.Concat(moves, additions, promotions, drops, demotions)
}

// chooseVoters chooses the nodes that are to vote: an odd number of members. A voter that is missing or draining keeps its vote if no
// other node can take it.
func chooseVoters(servers []Server, nodes map[ring.NodeID]agreed.Node, view liveness) []ring.NodeID {
	voting := map[ring.NodeID]bool{}
	for _, s := range servers {
		voting[s.ID] = s.Voter
	}
	const never = 5
	rank := func(id ring.NodeID) int { // the lower, the rather a node votes
		stays := voting[id] && (id == view.self || !view.missing(id))
		switch draining := nodes[id].Draining; {
		case stays && !draining && id == view.self:
			return 0
		case stays && !draining:
			return 1
		case !voting[id] && !draining && view.alive(id):
			return 2
		case stays:
			return 3
		case voting[id]:
			return 4
		}
		return never
	}
	candidates := slices.DeleteFunc(sortedIDs(nodes), func(id ring.NodeID) bool { return rank(id) == never })
	slices.SortStableFunc(candidates, func(a, b ring.NodeID) int { return cmp.Compare(rank(a), rank(b)) })
	return candidates[:min(len(candidates), voterCount(len(candidates)))]
}

// sortedIDs are the members in the order of their ids.
func sortedIDs(nodes map[ring.NodeID]agreed.Node) []ring.NodeID {
	ids := make([]ring.NodeID, 0, len(nodes))
	for id := range nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ring.NodeID.Compare)
	return ids
}

// after is the configuration after a change.
func after(servers []Server, change serverChange) []Server {
	next := slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return s.ID == change.server.ID })
	if change.kind != drop {
		next = append(next, change.server)
	}
	return next
}

// majority says whether a majority of the voters is alive.
func (s liveness) majority(servers []Server) bool {
	voters, living := 0, 0
	for _, server := range servers {
		if server.Voter {
			voters++
			if server.ID == s.self || s.alive(server.ID) {
				living++
			}
		}
	}
	return voters > 0 && living >= ring.Majority(voters)
}

// successor finds another voter that is alive and is to go on voting; -1 is none.
func (s liveness) successor(servers []Server, chosen []ring.NodeID) int {
	return slices.IndexFunc(servers, func(other Server) bool {
		return other.Voter && other.ID != s.self && s.alive(other.ID) && slices.Contains(chosen, other.ID)
	})
}

// KeepVoters has raft's configuration follow the registry whenever this node leads, until ctx ends. alive says whether a
// node is heard of; one that is not is missed only after a while.
func (a *Agreement) KeepVoters(ctx context.Context, alive func(ring.NodeID) bool) {
	a.WhileLeading(ctx, func(ctx context.Context) {
		missed := absences{alive: alive, since: map[ring.NodeID]time.Time{}, throttle: lograte.NewThrottle()}
		ticker := time.NewTicker(votersEvery)
		defer ticker.Stop()
		for {
			changed := a.Changed()
			if a.changeServers(ctx, &missed) {
				continue
			}
			select {
			case <-changed:
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// changeServers takes one step, and says whether it was taken.
func (a *Agreement) changeServers(ctx context.Context, missed *absences) bool {
	s := a.State()
	if !s.Founded() || ctx.Err() != nil {
		return false // before the founding the registry is empty
	}
	missed.update(s.Nodes, time.Now())
	view := liveness{self: a.config.ID, alive: missed.alive, missing: missed.missing}
	change, due := nextServerChange(a.Servers(), s.Nodes, view)
	if !due {
		return false
	}
	if err := a.changeServer(ctx, change); err != nil {
		if ctx.Err() == nil && missed.throttle.Allow(err.Error()) {
			a.logger.Warn("changing raft's servers failed; retrying", "change", string(change.kind),
				"node", s.Nodes[change.server.ID].Name, "id", change.server.ID, "error", err)
		}
		return false
	}
	a.logger.Info("changed raft's servers", "change", string(change.kind), "node", cmp.Or(s.Nodes[change.server.ID].Name, "not a member"),
		"id", change.server.ID, "address", change.server.Address)
	return change.kind != transferLead
}

// changeServer takes a step, on the leader.
func (a *Agreement) changeServer(ctx context.Context, change serverChange) error {
	r := a.running.Load()
	if r == nil {
		return agreed.ErrNotLeader
	}
	id, where, limit := serverID(change.server.ID), raft.ServerAddress(change.server.Address), timeoutOf(ctx)
	switch change.kind {
	case addNonvoter:
		return await(ctx, r.AddNonvoter(id, where, 0, limit))
	case addVoter:
		return await(ctx, r.AddVoter(id, where, 0, limit))
	case demote:
		return await(ctx, r.DemoteVoter(id, 0, limit))
	case drop:
		return await(ctx, r.RemoveServer(id, 0, limit))
	case transferLead:
		return await(ctx, r.LeadershipTransferToServer(id, where))
	}
	return fmt.Errorf("%w: unknown change of raft's servers: %q", agreed.ErrInvalid, change.kind)
}

// absences notes how long nodes have not been heard of.
type absences struct {
	alive    func(ring.NodeID) bool
	since    map[ring.NodeID]time.Time // when a node was first not heard of, this time
	now      time.Time
	throttle *lograte.Throttle // of what has failed
}

// update notes which nodes are not heard of now.
func (p *absences) update(nodes map[ring.NodeID]agreed.Node, now time.Time) {
	p.now = now
	for id := range p.since {
		if _, member := nodes[id]; !member || p.alive(id) {
			delete(p.since, id)
		}
	}
	for id := range nodes {
		if _, noted := p.since[id]; !noted && !p.alive(id) {
			p.since[id] = now
		}
	}
}

// missing says whether a node has not been heard of for so long that another one may vote in its stead.
func (p *absences) missing(id ring.NodeID) bool {
	since, silent := p.since[id]
	return silent && p.now.Sub(since) >= voterPatience
}
