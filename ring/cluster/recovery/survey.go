package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// A survey is what one node knows before a forced recovery.
type survey struct {
	ID      ring.NodeID   `json:"id"`
	Cluster agreed.Unique `json:"cluster"` // by its raft log; zero if that is empty
	// Epochs are the highest epochs of the partitions that the node knows of.
	Epochs []uint64 `json:"epochs"`
	// Proved says that the other nodes have confirmed that the node's disk is no old copy.
	Proved bool `json:"proved"`
	// Servers are raft's servers by the node's log, and End is where that log ends.
	Servers []consensus.Server `json:"servers"`
	End     consensus.LogEnd   `json:"end"`
	// Leader is the name of the node that leads raft, as far as this one knows; empty if it knows of none.
	Leader string `json:"leader,omitempty"`
}

func (r *Recoverer) answerSurvey(context.Context, message.Nothing) (survey, error) {
	own, err := r.config.Agreement.Supposed()
	if err != nil {
		return survey{}, err
	}
	known := survey{
		ID: r.config.ID, Cluster: own.State.Cluster, Epochs: epochsOf(own.State), Proved: r.config.Proved(),
		Servers: own.Servers, End: own.End, Leader: r.leaderHeard(),
	}
	if r.config.Epochs != nil {
		known.Epochs = highest(known.Epochs, r.config.Epochs())
	}
	return known, nil
}

// leaderHeard is the name of the node that leads raft, as far as this one knows; empty if it knows of none.
func (r *Recoverer) leaderHeard() string {
	id, _, known := r.config.Agreement.Leader()
	if !known {
		return ""
	}
	return cmp.Or(r.config.Agreement.State().Nodes[id].Name, id.String())
}

// epochsOf are the highest epochs that a state knows of: where a move is under way, the next one may be in use.
func epochsOf(s *agreed.State) []uint64 {
	var epochs []uint64
	if s.Table != nil {
		for _, place := range s.Table.Places {
			epoch := place.Epoch
			if len(place.Next) > 0 {
				epoch++
			}
			epochs = append(epochs, epoch)
		}
	}
	return epochs
}

// highest is the higher of two epochs of each partition.
func highest(a, b []uint64) []uint64 {
	all := make([]uint64, max(len(a), len(b)))
	copy(all, a)
	for p, epoch := range b {
		all[p] = max(all[p], epoch)
	}
	return all
}

// A knowledge is what the surveys of all survivors say together.
type knowledge struct {
	epochs   []uint64              // the highest ones of the partitions
	newest   survey                // of the node whose raft log ends last: this node, if no other ends later
	leader   string                // the name of a leader that a survivor knows of; empty if there is none
	unproved string                // the name of a node whose registers may be those of an old copy; empty if there is none
	unmet    map[ring.NodeID]error // why nodes that only gossip knows do not answer
}

// unmetServer is why a node that only gossip knows does not answer, if raft has it: it was let in, and counts.
func (k *knowledge) unmetServer() error {
	for _, server := range k.newest.Servers {
		if err := k.unmet[server.ID]; err != nil {
			return err
		}
	}
	return nil // all that was agreed is known, and nodes that only gossip knows were not let in
}

// add adds the survey of a node.
func (k *knowledge) add(name string, s survey) {
	k.epochs = highest(k.epochs, s.Epochs)
	if s.End.After(k.newest.End) {
		k.newest = s
	}
	k.leader = cmp.Or(k.leader, s.Leader)
	if !s.Proved {
		k.unproved = name
	}
}

// majorityLost says whether too few voters survive to elect a leader, by the newest known configuration of raft. A node that
// was removed, and that raft has not let go of yet, does not survive: it never decides again. Of that the others must have agreed.
func (r *Recoverer) majorityLost(k *knowledge, own consensus.Supposition, gone map[ring.NodeID]agreed.Node) bool {
	maybe := r.maybeRemoved(own)
	voters, left := 0, 0
	for _, server := range k.newest.Servers {
		if !server.Voter {
			continue
		}
		voters++
		_, lost := gone[server.ID]
		_, removed := own.State.Removed[server.ID]
		_, unsure := maybe[server.ID]
		if !lost && (!removed || unsure) {
			left++
		}
	}
	return left < ring.Majority(voters)
}

// maybeRemoved are the nodes that entries of this node's raft log remove, on which nobody may have agreed: they may live, and know more.
func (r *Recoverer) maybeRemoved(own consensus.Supposition) map[ring.NodeID]agreed.Node {
	maybe, s := maps.Clone(own.Removed), r.config.State()
	maps.DeleteFunc(maybe, func(id ring.NodeID, _ agreed.Node) bool { _, sure := s.Removed[id]; return sure })
	return maybe
}

// noticeTime is how long the voters may take to notice that their leader is lost.
const noticeTime = 4 * consensus.ElectionTimeout

// survey asks every survivor what it knows. Where raft has lost its majority, it waits until every node of the cluster that runs can have made itself known to
// gossip, and until no survivor knows of a leader: as long as one does, the nodes that were named as lost are not lost.
func (r *Recoverer) survey(ctx context.Context, own consensus.Supposition, gone map[ring.NodeID]agreed.Node) (*knowledge, error) {
	for started := time.Now(); ; {
		known, err := r.surveyAll(ctx, own, gone)
		if err != nil {
			return nil, err
		}
		if !r.majorityLost(known, own, gone) {
			err = known.unmetServer()
			return known, err
		}
		if waited, err := r.config.Gossip.Settle(ctx); err != nil {
			return nil, err
		} else if waited {
			continue
		}
		if len(known.unmet) > 0 || known.leader == "" {
			return known, errors.Join(slices.Collect(maps.Values(known.unmet))...)
		}
		if time.Since(started) > noticeTime {
			return nil, fmt.Errorf("%w: a surviving node hears the leader %q: stop the lost nodes for good, or do not name them as lost", message.ErrAlive, known.leader)
		}
		if _, err := message.Pause(ctx, consensus.ElectionTimeout/10, nil); err != nil {
			return nil, err
		}
	}
}

// surveyAll asks every survivor once.
func (r *Recoverer) surveyAll(ctx context.Context, own consensus.Supposition, gone map[ring.NodeID]agreed.Node) (*knowledge, error) {
	said, err := r.answerSurvey(ctx, message.Nothing{})
	if err != nil {
		return nil, err
	}
	s, strangers := own.State, r.letIn(own.State)
	known := &knowledge{newest: said, unmet: map[ring.NodeID]error{}}
	known.add(r.config.Name, said)
	var mu sync.Mutex
	var problems []error
	message.ForEach(r.survivors(own, gone), func(n agreed.Node) {
		said, err := message.Call[survey](ctx, r.config.Peers, n.GRPC, message.KindSurvey, message.Nothing{})
		mu.Lock()
		defer mu.Unlock()
		problem := func(err error) {
			if slices.ContainsFunc(strangers, func(o agreed.Node) bool { return o.ID == n.ID }) {
				known.unmet[n.ID] = err
				return
			}
			problems = append(problems, err)
		}
		switch {
		case err != nil:
			problem(fmt.Errorf("%w: %q, which is not named as lost: start it, or name its id as lost too, which is %s: %w", message.ErrUnreachable, n.Name, n.ID, err))
		case said.ID != n.ID:
			problem(fmt.Errorf("%w: %q, which is node %s; node %s answers at its address", message.ErrUnreachable, n.Name, n.ID, said.ID))
		case said.Cluster != agreed.Unique{} && said.Cluster != s.Cluster:
			problems = append(problems, fmt.Errorf("%w: %q is in cluster %s now", message.ErrForeign, n.Name, said.Cluster))
		default:
			_, member := s.Nodes[n.ID]
			said.Proved = said.Proved || !member // a node that is no member is no replica either
			known.add(n.Name, said)
		}
	})
	return known, errors.Join(problems...)
}

// survivors are the other nodes that are not lost, at the addresses that gossip tells, or else at the agreed ones.
func (r *Recoverer) survivors(own consensus.Supposition, gone map[ring.NodeID]agreed.Node) []agreed.Node {
	survivors := r.letIn(own.State)
	for _, nodes := range []map[ring.NodeID]agreed.Node{own.State.Nodes, r.maybeRemoved(own)} {
		for id, n := range nodes {
			if id != r.config.ID {
				n.GRPC = r.config.Directory.AddressOfNode(n)
				survivors = append(survivors, n)
			}
		}
	}
	return slices.DeleteFunc(survivors, func(n agreed.Node) bool {
		_, lost := gone[n.ID]
		return lost
	})
}

// letIn are the nodes of this cluster that only gossip knows: those who are lost may have let them in. Whom gossip takes for dead may only be slow,
// and may know what no other survivor does.
func (r *Recoverer) letIn(s *agreed.State) (all []agreed.Node) {
	for id, p := range r.config.Gossip.All() {
		_, member := s.Nodes[id]
		_, removed := s.Removed[id]
		if p.Cluster == s.Cluster.String() && !member && !removed {
			all = append(all, agreed.Node{ID: id, Name: p.Name, GRPC: p.GRPC})
		}
	}
	return all
}
