package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// recovererConfig is what a recoverer works with. Fields are required unless a zero value is mentioned; any goroutine may call
// the functions.
type recovererConfig struct {
	// ID is this node, and Name what it is called.
	ID        ring.NodeID
	Name      string
	Peers     message.Peers
	Gossip    *gossip.Gossip
	Agreement *consensus.Agreement
	Directory *gossip.Directory
	Leader    *message.Leader
	// State is what this node shows as agreed.
	State func() *agreed.State
	// Belong notes, durably, that this node is a member of a cluster. Proved says whether its disk was found to be no old
	// copy, and Assert ends its asking for that.
	Belong func(cluster agreed.Unique) error
	Proved func() bool
	Assert func()
	// Epochs are the highest epochs that this node's registers know of, and End makes them accept nothing any more. Nil:
	// there are none.
	Epochs func() []uint64
	End    func(ctx context.Context) error
	Logger *slog.Logger
}

// A recoverer makes a cluster of the nodes that are left, here or for another node that recovers it.
type recoverer struct {
	config recovererConfig
	mu     sync.Mutex // held by Recover and by a reset
}

func newRecoverer(config recovererConfig) *recoverer { return &recoverer{config: config} }

// handlers are what this node answers to one that recovers the cluster.
func (r *recoverer) handlers() map[string]message.Handler {
	return map[string]message.Handler{
		message.KindSurvey: message.Serve(r.answerSurvey),
		message.KindReset:  message.Serve(r.answerReset),
	}
}

// leaderHandlers are what this node answers when it leads.
func (r *recoverer) leaderHandlers() map[string]message.Handler {
	return map[string]message.Handler{message.KindRecover: message.Serve(r.answerRecover)}
}

// recover makes a cluster of the nodes that are left, after more were lost for ever than it can bear. lost are the names
// or ids of all nodes that do not answer: they are removed, and never taken back.
//
// Where raft has kept its majority, all that was agreed is known. Partitions that keep too few replicas begin an epoch above
// every one that is known, with a floor: for a moment their buckets count as empty. The others move.
//
// Where raft has lost it, those who are lost may have agreed on anything that nobody left has heard of, and served by it. So
// every partition begins anew:
//
//	each that is left   ends what its registers take part in, for good, and empties its raft log
//	this one            in one step on its disk: its log counts as agreed, it is raft's only server, all partitions
//	                    begin an epoch above any that anybody was in, with a floor
//	each that is left   is let in again, and enters the epochs with a floor that lies after all of that
//
// It is refused while a lost node answers or leads (ErrAlive), while another node does not answer or has not proved its disk
// (ErrUnreachable), and where the raft log of another node is longer than this one's (ErrStale): then it is to be asked there.
// A recovery that was interrupted is asked for again; until then, what is left may accept nothing.
func (r *recoverer) recover(ctx context.Context, lost []string) (agreed.Recovery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, err := r.config.Agreement.Supposed()
	if err != nil {
		return agreed.Recovery{}, err
	}
	s := own.State
	if !s.Founded() {
		return agreed.Recovery{}, fmt.Errorf("%w: this node does not know the state of the cluster; run the recovery on another surviving node", message.ErrUnreachable)
	}
	gone, err := r.goneNodes(ctx, s, lost)
	if err != nil {
		return agreed.Recovery{}, err
	}
	known, err := r.survey(ctx, s, gone)
	if err != nil {
		return agreed.Recovery{}, err
	}
	raftLost := known.majorityLost(gone)
	if err := r.mayRecover(known, raftLost); err != nil {
		return agreed.Recovery{}, err
	}
	what, done, err := agreed.PlanRecovery(s, gone, known.epochs, raftLost)
	if err != nil {
		return agreed.Recovery{}, err
	}
	r.config.Logger.Warn("forced recovery", "lost", lost, "raft_lost", raftLost, "floored", done.Floored, "moved", done.Moved)
	if !raftLost {
		_, err := message.AskLeader[message.Nothing](ctx, r.config.Leader, message.KindRecover, *what)
		return done, err
	}
	if err := r.recoverRaft(ctx, s, gone, own.End, what); err != nil {
		return agreed.Recovery{}, err
	}
	r.config.Assert()
	return done, nil
}

// mayRecover says why another node is to be asked, or waited for.
func (r *recoverer) mayRecover(known *knowledge, raftLost bool) error {
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

// nameOf is what a node is called, by what is agreed, or else by gossip.
func (r *recoverer) nameOf(id ring.NodeID) string {
	if n, member := r.config.State().Nodes[id]; member {
		return n.Name
	}
	if p, found := r.config.Gossip.Find(id); found {
		return p.Name
	}
	return id.String()
}

func (r *recoverer) answerRecover(ctx context.Context, q agreed.Recover) (message.Nothing, error) {
	return message.Nothing{}, r.config.Agreement.Propose(ctx, agreed.Command{Recover: &q})
}

// goneNodes are the lost nodes that are members still, none of which may answer.
func (r *recoverer) goneNodes(ctx context.Context, s *agreed.State, lost []string) (map[ring.NodeID]agreed.Node, error) {
	gone := map[ring.NodeID]agreed.Node{}
	for _, name := range lost {
		n, err := s.Find(name)
		switch _, was := s.Removed[n.ID]; {
		case err != nil && was:
			continue
		case err != nil:
			return nil, err
		case n.ID == r.config.ID:
			return nil, fmt.Errorf("%w: %q is this node; run the recovery on a surviving node", message.ErrAlive, name)
		}
		p, err := message.Call[message.Pong](ctx, r.config.Peers, r.config.Directory.AddressOfNode(n), message.KindPing, message.Nothing{})
		if err == nil && p.ID == n.ID || err != nil && !message.Unanswered(err) {
			return nil, fmt.Errorf("%w: %q at %s; stop it for good first, or do not name it as lost", message.ErrAlive, name, r.config.Directory.AddressOfNode(n))
		}
		gone[n.ID] = n
	}
	return gone, nil
}

// A resetNotice says which cluster a node is to learn anew.
type resetNotice struct {
	Cluster agreed.Unique    `json:"cluster"`
	By      string           `json:"by"`  // the name of the node that recovers it
	End     consensus.LogEnd `json:"end"` // of its log
}

// recoverRaft has all that are left, this node too, take part in nothing any more that was agreed before, and then makes this
// node lead alone, with what is agreed from then on. The others are added again, since they are members.
func (r *recoverer) recoverRaft(ctx context.Context, s *agreed.State, gone map[ring.NodeID]agreed.Node, end consensus.LogEnd, what *agreed.Recover) error {
	if err := r.endRegisters(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	var problems []error
	message.ForEach(r.left(s, gone), func(n agreed.Node) {
		_, err := message.CallWithin[message.Nothing](ctx, r.config.Peers, message.LeadTime, n.GRPC, message.KindReset, resetNotice{s.Cluster, r.config.Name, end})
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, fmt.Errorf("%w: %q has not reset its raft log; run the recovery again: %w", message.ErrUnreachable, n.Name, err))
		}
	})
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return r.config.Agreement.RecoverAlone(ctx, what)
}

// endRegisters has this node accept nothing any more before a recovered epoch begins. Else those who are left and were a majority
// of a partition would go on in its old epoch, while others, whom the recovery has chosen, begin the new one with their floors.
func (r *recoverer) endRegisters(ctx context.Context) error {
	if r.config.End == nil {
		return nil
	}
	return r.config.End(ctx)
}

// answerReset ends what this node takes part in, and empties raft's log here, for a node that recovers the cluster.
func (r *recoverer) answerReset(ctx context.Context, q resetNotice) (message.Nothing, error) {
	if !r.mu.TryLock() {
		return message.Nothing{}, fmt.Errorf("%w: node %q is recovering the cluster itself", agreed.ErrStale, r.config.Name)
	}
	defer r.mu.Unlock()
	if s := r.config.State(); s.Founded() && s.Cluster != q.Cluster {
		return message.Nothing{}, fmt.Errorf("%w: this node is in cluster %s", message.ErrForeign, s.Cluster)
	}
	if leader := r.leaderHeard(); leader != "" {
		return message.Nothing{}, fmt.Errorf("%w: %q leads, according to node %q", message.ErrAlive, leader, r.config.Name)
	}
	if err := r.config.Belong(q.Cluster); err != nil { // or this node, if it was the founder, would found it again
		return message.Nothing{}, err
	}
	r.config.Logger.Warn("another node runs a forced recovery: this node closes its registers until the next epoch and resets its raft log", "by", q.By)
	if err := r.endRegisters(ctx); err != nil {
		return message.Nothing{}, err
	}
	if err := r.config.Agreement.Reset(q.End); err != nil {
		return message.Nothing{}, err
	}
	r.config.Assert() // the leader asks this node's mark when it lets it in
	return message.Nothing{}, nil
}
