package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// A resetNotice asks a node to empty its raft log: it learns the state of the cluster anew.
type resetNotice struct {
	Cluster agreed.Unique    `json:"cluster"`
	By      string           `json:"by"`  // the name of the node that recovers it
	End     consensus.LogEnd `json:"end"` // of its log
	// Lost are the nodes that are named as lost.
	Lost []ring.NodeID `json:"lost,omitempty"`
}

// recoverRaft has every survivor, this node too, end its part in all that was agreed before, and then makes this node lead alone,
// with the recovery agreed. The leader then adds the other survivors to raft again, since they are members.
func (r *Recoverer) recoverRaft(ctx context.Context, own consensus.Supposition, gone map[ring.NodeID]agreed.Node, what *agreed.Command) error {
	if err := r.endRegisters(ctx); err != nil {
		return err
	}
	notice := resetNotice{own.State.Cluster, r.config.Name, own.End, slices.SortedFunc(maps.Keys(gone), ring.NodeID.Compare)}
	var mu sync.Mutex
	var problems []error
	message.ForEach(r.survivors(own, gone), func(n agreed.Node) {
		_, err := message.CallWithin[message.Nothing](ctx, r.config.Peers, message.LeadTime, n.GRPC, message.KindReset, notice)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, fmt.Errorf("%w: %q has not reset its raft log; run the recovery again: %w", message.ErrUnreachable, n.Name, err))
		}
	})
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return r.config.Agreement.RecoverAlone(ctx, own.End, what)
}

// endRegisters makes this node's registers accept nothing any more until a recovered epoch begins. Otherwise survivors that are a
// majority of a partition would go on in its old epoch, while the replicas of the new one begin it with their floors.
func (r *Recoverer) endRegisters(ctx context.Context) error {
	if r.config.End == nil {
		return nil
	}
	return r.config.End(ctx)
}

// answerReset ends what this node's registers take part in, and empties its raft log, for a node that recovers the cluster.
func (r *Recoverer) answerReset(ctx context.Context, q resetNotice) (message.Nothing, error) {
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
	if own, err := r.config.Agreement.Supposed(); err != nil {
		return message.Nothing{}, err
	} else if own.End.After(q.End) { // the reset would be refused after this node has ended its registers
		return message.Nothing{}, fmt.Errorf("%w: the raft log of node %q ends at %s, after that of the recovering node, which ends at %s", agreed.ErrStale, r.config.Name, own.End, q.End)
	}
	if err := r.config.Belong(q.Cluster); err != nil { // otherwise the node that founded the cluster would found it again
		return message.Nothing{}, err
	}
	r.config.Logger.Warn("another node runs a forced recovery: this node closes its registers until the next epoch and resets its raft log", "by", q.By)
	if err := r.endRegisters(ctx); err != nil {
		return message.Nothing{}, err
	}
	if err := r.config.Agreement.Reset(q.End, q.Lost); err != nil {
		return message.Nothing{}, err
	}
	r.config.Assert() // the leader checks this node's mark when it lets it in
	return message.Nothing{}, nil
}
