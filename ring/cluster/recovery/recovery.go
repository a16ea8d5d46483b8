// Package recovery makes a cluster of the surviving nodes after an operator has said that the others are lost for ever: forced
// recovery. It asks every survivor what it knows, and refuses while a lost node answers or leads, or while a survivor does not
// answer.
//
// Where raft has kept its majority, all that was agreed is known. Partitions that keep too few replicas begin an epoch above
// every known one, with a floor: for a moment their buckets count as empty. The others move as usual.
//
// Where raft has lost its majority, the lost nodes may have agreed on commands that no survivor has heard of, and served by
// them. So every partition begins anew:
//
//	each survivor    ends what its registers take part in, for good, and empties its raft log
//	this node        in one step on its disk: its log counts as agreed, it is raft's only server, every partition begins an
//	                 epoch above any that a node was in, with a floor
//	each survivor    is let in again, and enters the epochs with a floor that lies after all of that
//
// An operator runs an interrupted recovery again; until then, the survivors may accept nothing.
//
// What a recovery changes in the agreed state is computed by [agreed.PlanRecovery], and raft's half is in package consensus. Start
// with [New] and [Recoverer.Recover].
package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Config is what a recoverer works with. Fields are required unless a zero value is mentioned; any goroutine may call the
// functions.
type Config struct {
	// ID is this node, and Name what it is called.
	ID        ring.NodeID
	Name      string
	Peers     message.Peers
	Gossip    *gossip.Gossip
	Agreement *consensus.Agreement
	Directory *gossip.Directory
	Leader    *message.Leader
	// State is the agreed state that this node shows.
	State func() *agreed.State
	// Belong records, durably, that this node is a member of a cluster. Proved says whether the other nodes have confirmed that
	// its disk is no old copy, and Assert stops it from asking them.
	Belong func(cluster agreed.Unique) error
	Proved func() bool
	Assert func()
	// Epochs are the highest epochs of the partitions that this node's registers know of, and End makes the registers accept
	// nothing any more. Nil: this node has no registers.
	Epochs func() []uint64
	End    func(ctx context.Context) error
	// Entry is what the audit log says of a recovery that the caller of ctx has asked for.
	Entry  func(ctx context.Context, verb, object, detail string) *agreed.Entry
	Logger *slog.Logger
}

// A Recoverer is this node's part in forced recoveries: it runs them, and answers other nodes that do. Its methods may be called
// by any number of goroutines at once.
type Recoverer struct {
	config Config
	mu     sync.Mutex // held during Recover and during a reset
}

// New makes a recoverer.
func New(config Config) *Recoverer { return &Recoverer{config: config} }

// Handlers answer the messages of a node that recovers the cluster.
func (r *Recoverer) Handlers() map[string]message.Handler {
	return map[string]message.Handler{
		message.KindSurvey: message.Serve(r.answerSurvey),
		message.KindReset:  message.Serve(r.answerReset),
	}
}

// LeaderHandlers answer the messages that only the leader answers.
func (r *Recoverer) LeaderHandlers() map[string]message.Handler {
	return map[string]message.Handler{message.KindRecover: message.Serve(r.answerRecover)}
}

// Recover makes a cluster of the surviving nodes. lost are the names or ids of all nodes that do not answer: they are removed for
// ever, and the cluster never takes their disks back. Nodes that were removed already are passed over. A node that the lost ones may
// have let in, which only gossip knows, is named too if it does not answer. Nodes with new disks that wait in the place of lost ones, under
// their names, are let in afterwards.
//
// It is refused while a lost node answers or leads (ErrAlive), while another node does not answer or has not proved its disk
// (ErrUnreachable), and where another node's raft log is longer than this one's (ErrStale): then run it there.
func (r *Recoverer) Recover(ctx context.Context, lost []string) (agreed.Recovery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, gone, known, err := r.learn(ctx, lost)
	if err != nil {
		return agreed.Recovery{}, err
	}
	raftLost := r.majorityLost(known, own, gone)
	if err := r.mayRecover(known, raftLost); err != nil {
		return agreed.Recovery{}, err
	}
	what, done, err := agreed.PlanRecovery(own.State, gone, known.epochs, raftLost)
	if err != nil {
		return agreed.Recovery{}, err
	}
	r.config.Logger.Warn("forced recovery", "lost", lost, "raft_lost", raftLost, "floored", done.Floored, "moved", done.Moved)
	by := r.config.Entry(ctx, agreed.VerbRecover, "lost: "+strings.Join(lost, ", "),
		fmt.Sprintf("%d partitions begin again with a floor, %d are completed", done.Floored, done.Moved))
	if !raftLost {
		_, err := message.AskLeader[message.Nothing](ctx, r.config.Leader, message.KindRecover, recoverRequest{Recover: *what, By: by})
		return done, err
	}
	if err := r.recoverRaft(ctx, own, gone, &agreed.Command{Recover: what, By: by}); err != nil {
		return agreed.Recovery{}, err
	}
	r.config.Assert()
	return done, nil
}

// learn is what this node's log comes to, which nodes are lost, and what the survivors know together. Where raft has lost its majority, it is learned anew
// while this node's log still grows: this node may have led until a moment ago.
func (r *Recoverer) learn(ctx context.Context, lost []string) (own consensus.Supposition, gone map[ring.NodeID]agreed.Node, known *knowledge, err error) {
	for {
		if own, err = r.config.Agreement.Supposed(); err != nil {
			return own, nil, nil, err
		}
		if !own.State.Founded() {
			return own, nil, nil, fmt.Errorf("%w: this node does not know the state of the cluster; run the recovery on another surviving node", message.ErrUnreachable)
		}
		if gone, err = r.goneNodes(ctx, own, lost); err != nil {
			return own, nil, nil, err
		}
		if known, err = r.survey(ctx, own, gone); err != nil {
			return own, nil, nil, err
		}
		now, err := r.config.Agreement.Supposed()
		if err != nil || now.End == own.End || !r.majorityLost(known, own, gone) {
			return own, gone, known, err
		}
	}
}

// mayRecover refuses a recovery that must run at another node, or wait for one.
func (r *Recoverer) mayRecover(known *knowledge, raftLost bool) error {
	switch {
	case raftLost && known.newest.ID != r.config.ID:
		return fmt.Errorf("%w: node %q has a longer raft log; run the recovery there", agreed.ErrStale, r.nameOf(known.newest.ID))
	case raftLost:
		return nil
	case !r.config.Agreement.Runs():
		return fmt.Errorf("%w: enough voters survive to elect a leader; start those that are down, then recover", message.ErrUnreachable)
	case known.unproved != "":
		return fmt.Errorf("%w: %q has not yet proved that its disk is not an old copy; wait until it is ready, or stop it for good and name it as lost too",
			message.ErrUnreachable, known.unproved)
	}
	return nil
}

// nameOf is a node's name: the agreed one, or else the one in gossip.
func (r *Recoverer) nameOf(id ring.NodeID) string {
	if n, member := r.config.State().Nodes[id]; member {
		return n.Name
	}
	if p, found := r.config.Gossip.Find(id); found {
		return p.Name
	}
	return id.String()
}

// A recoverRequest is a recovery, with what the audit log says of it.
type recoverRequest struct {
	agreed.Recover

	By *agreed.Entry `json:"by,omitempty"`
}

func (r *Recoverer) answerRecover(ctx context.Context, q recoverRequest) (message.Nothing, error) {
	return message.Nothing{}, r.config.Agreement.Propose(ctx, agreed.Command{Recover: &q.Recover, By: q.By})
}

// goneNodes are the lost nodes that were not removed before. It is refused if one of them answers.
func (r *Recoverer) goneNodes(ctx context.Context, own consensus.Supposition, lost []string) (map[ring.NodeID]agreed.Node, error) {
	gone := map[ring.NodeID]agreed.Node{}
	for _, name := range lost {
		nodes, err := r.named(ctx, own, name)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if n.ID == r.config.ID {
				return nil, fmt.Errorf("%w: %q is this node; run the recovery on a surviving node", message.ErrAlive, name)
			}
			at := r.config.Directory.AddressOfNode(n)
			p, err := message.Call[message.Pong](ctx, r.config.Peers, at, message.KindPing, message.Nothing{})
			if err == nil && p.ID == n.ID || err != nil && !message.Unanswered(err) {
				return nil, fmt.Errorf("%w: %q, which is node %s, at %s; stop it for good first, or do not name it as lost", message.ErrAlive, name, n.ID, at)
			}
			gone[n.ID] = n
		}
	}
	return gone, nil
}

// named are the nodes of a name or an id that were not removed before: a member, those of whom only gossip tells, and those who may not be removed
// yet. Who waits with a new disk, under the name of one that is lost, is another node.
func (r *Recoverer) named(ctx context.Context, own consensus.Supposition, node string) ([]agreed.Node, error) {
	s := own.State
	n, err := s.Find(node)
	others := slices.AppendSeq(r.letIn(s), maps.Values(r.maybeRemoved(own)))
	named := slices.DeleteFunc(others, func(o agreed.Node) bool { return o.Name != node && o.ID != n.ID })
	if err == nil {
		named = append(named, n)
	}
	_, removed := s.Removed[n.ID]
	removed = removed || slices.Contains(slices.Collect(maps.Values(s.Removed)), node)
	if len(named) > 1 || removed {
		lost := slices.DeleteFunc(slices.Clone(named), func(o agreed.Node) bool { return r.waits(ctx, o) })
		if len(lost) > 0 || removed {
			return lost, nil
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	return nil, err
}

// waits says whether a node answers and has heard nothing of the cluster yet: its raft log is empty.
func (r *Recoverer) waits(ctx context.Context, n agreed.Node) bool {
	said, err := message.Call[survey](ctx, r.config.Peers, r.config.Directory.AddressOfNode(n), message.KindSurvey, message.Nothing{})
	return err == nil && said.ID == n.ID && said.Cluster == agreed.Unique{}
}
