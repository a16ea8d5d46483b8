package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Recover makes a cluster of the nodes that are left, after more were lost for ever than it can bear. lost are the names
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
func (c *Cluster) Recover(ctx context.Context, lost []string) (agreed.Recovery, error) {
	c.rescue.Lock()
	defer c.rescue.Unlock()
	own, err := c.agreement.Supposed()
	if err != nil {
		return agreed.Recovery{}, err
	}
	s := own.State
	if !s.Founded() {
		return agreed.Recovery{}, fmt.Errorf("%w: this node does not know what the cluster has agreed on; ask another one that is left", message.ErrUnreachable)
	}
	gone, err := c.goneNodes(ctx, s, lost)
	if err != nil {
		return agreed.Recovery{}, err
	}
	known, err := c.survey(ctx, s, gone)
	if err != nil {
		return agreed.Recovery{}, err
	}
	raftLost := known.majorityLost(gone)
	if err := c.mayRecover(known, raftLost); err != nil {
		return agreed.Recovery{}, err
	}
	what, done, err := agreed.PlanRecovery(s, gone, known.epochs, raftLost)
	if err != nil {
		return agreed.Recovery{}, err
	}
	c.logger.Warn("forced recovery", "lost", lost, "raft_lost", raftLost, "floored", done.Floored, "moved", done.Moved)
	if !raftLost {
		_, err := message.AskLeader[message.Nothing](ctx, c.leader, message.KindRecover, *what)
		return done, err
	}
	if err := c.recoverRaft(ctx, s, gone, own.End, what); err != nil {
		return agreed.Recovery{}, err
	}
	c.assert()
	return done, nil
}

// mayRecover says why another node is to be asked, or waited for.
func (c *Cluster) mayRecover(known *knowledge, raftLost bool) error {
	switch {
	case raftLost && known.newest.ID != c.config.ID:
		return fmt.Errorf("%w: node %q knows more than this one; ask it to recover", agreed.ErrStale, c.nameOf(known.newest.ID))
	case raftLost:
		return nil
	case !c.agreement.Runs():
		return fmt.Errorf("%w: enough voters are left for a leader; start those that are down, and recover then", message.ErrUnreachable)
	case known.doubt != "":
		return fmt.Errorf("%w: %q has not proved yet that its disk is no old copy; wait until it is ready, or stop it for good and name it too",
			message.ErrUnreachable, known.doubt)
	}
	return nil
}

// nameOf is what a node is called, by what is agreed, or else by gossip.
func (c *Cluster) nameOf(id ring.NodeID) string {
	if n, member := c.State().Nodes[id]; member {
		return n.Name
	}
	if p, found := c.gossip.Find(id); found {
		return p.Name
	}
	return id.String()
}

// assert ends this node's asking whether its disk is an old copy: a recovery says that too few are left who could answer, and
// nothing that it keeps counts as known.
func (c *Cluster) assert() { c.asserting.Do(func() { close(c.asserted) }) }

func (c *Cluster) answerRecover(ctx context.Context, q agreed.Recover) (message.Nothing, error) {
	return message.Nothing{}, c.agreement.Propose(ctx, agreed.Command{Recover: &q})
}

// goneNodes are the lost nodes that are members still, none of which may answer.
func (c *Cluster) goneNodes(ctx context.Context, s *agreed.State, lost []string) (map[ring.NodeID]agreed.Node, error) {
	gone := map[ring.NodeID]agreed.Node{}
	for _, name := range lost {
		n, err := s.Find(name)
		switch _, was := s.Removed[n.ID]; {
		case err != nil && was:
			continue
		case err != nil:
			return nil, err
		case n.ID == c.config.ID:
			return nil, fmt.Errorf("%w: %q is this node; ask one that is left", message.ErrAlive, name)
		}
		p, err := message.Call[message.Pong](ctx, c.config.Peers, c.addressFor(n), message.KindPing, message.Nothing{})
		if err == nil && p.ID == n.ID || err != nil && !message.Unanswered(err) {
			return nil, fmt.Errorf("%w: %q at %s; stop it for good first, or leave it out", message.ErrAlive, name, c.addressFor(n))
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
func (c *Cluster) recoverRaft(ctx context.Context, s *agreed.State, gone map[ring.NodeID]agreed.Node, end consensus.LogEnd, what *agreed.Recover) error {
	if err := c.endRegisters(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	var problems []error
	message.ForEach(c.left(s, gone), func(n agreed.Node) {
		_, err := message.CallWithin[message.Nothing](ctx, c.config.Peers, message.LeadTime, n.GRPC, message.KindReset, resetNotice{s.Cluster, c.config.Name, end})
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, fmt.Errorf("%w: %q has not emptied its raft log; recover again: %w", message.ErrUnreachable, n.Name, err))
		}
	})
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return c.agreement.RecoverAlone(ctx, what)
}

// endRegisters has this node accept nothing any more before a recovered epoch begins. Else those who are left and were a majority
// of a partition would go on in its old epoch, while others, whom the recovery has chosen, begin the new one with their floors.
func (c *Cluster) endRegisters(ctx context.Context) error {
	if c.config.End == nil {
		return nil
	}
	return c.config.End(ctx)
}

// answerReset ends what this node takes part in, and empties raft's log here, for a node that recovers the cluster.
func (c *Cluster) answerReset(ctx context.Context, q resetNotice) (message.Nothing, error) {
	if !c.rescue.TryLock() {
		return message.Nothing{}, fmt.Errorf("%w: node %q is recovering the cluster itself", agreed.ErrStale, c.config.Name)
	}
	defer c.rescue.Unlock()
	if s := c.State(); s.Founded() && s.Cluster != q.Cluster {
		return message.Nothing{}, fmt.Errorf("%w: this node is in cluster %s", message.ErrForeign, s.Cluster)
	}
	if leader := c.leaderHeard(); leader != "" {
		return message.Nothing{}, fmt.Errorf("%w: %q leads, as node %q hears", message.ErrAlive, leader, c.config.Name)
	}
	if err := c.record.belong(q.Cluster); err != nil { // or this node, if it was the founder, would found it again
		return message.Nothing{}, err
	}
	c.logger.Warn("a node recovers the cluster by force: this node's registers end, and its raft log begins anew", "by", q.By)
	if err := c.endRegisters(ctx); err != nil {
		return message.Nothing{}, err
	}
	if err := c.agreement.Reset(q.End); err != nil {
		return message.Nothing{}, err
	}
	c.assert() // the leader asks this node's mark when it lets it in
	return message.Nothing{}, nil
}
