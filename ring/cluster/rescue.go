package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jeton-dev/jeton/ring"
)

// A Recovery is what a forced recovery has done.
type Recovery struct {
	Floored int `json:"floored"` // partitions that had lost too many replicas: they begin again with a floor
	Moved   int `json:"moved"`   // partitions that have lost some: they move to other nodes, and nothing is forgotten
}

// Recover makes a cluster of the nodes that are left, after more were lost for ever than it can bear. lost are the names
// or ids of all nodes that do not answer: they are removed, and never taken back. Partitions that keep too few replicas
// begin a new epoch with a floor: for a moment their buckets count as empty. Where raft has lost its majority, what this
// node has in its log counts as agreed, and the log of the others begins anew.
//
// It is refused while a lost node answers (ErrAlive), while another node does not (ErrUnreachable), and where another
// node knows more than this one (ErrStale): then it is to be asked there. A recovery that was interrupted is asked for again.
func (c *Cluster) Recover(ctx context.Context, lost []string) (Recovery, error) {
	c.rescue.Lock()
	defer c.rescue.Unlock()
	s, err := c.supposed()
	if err != nil {
		return Recovery{}, err
	}
	if !s.Founded() {
		return Recovery{}, fmt.Errorf("%w: this node does not know what the cluster has agreed on; ask another one that is left", ErrUnreachable)
	}
	gone, err := c.goneNodes(ctx, s, lost)
	if err != nil {
		return Recovery{}, err
	}
	known, err := c.surveyAll(ctx, s, gone)
	if err != nil {
		return Recovery{}, err
	}
	what, done, err := planRecovery(s, gone, known)
	if err != nil {
		return Recovery{}, err
	}
	switch {
	case c.leaderless(gone):
		if err := c.recoverRaft(ctx, s, gone); err != nil {
			return Recovery{}, err
		}
	case !c.agreement.runs():
		return Recovery{}, fmt.Errorf("%w: enough voters are left for a leader; start those that are down, and recover then", ErrUnreachable)
	}
	c.logger.Warn("forced recovery", "lost", lost, "floored", done.Floored, "moved", done.Moved)
	if _, err := lead[nothing](ctx, c, kindRecover, *what); err != nil {
		return done, err
	}
	c.assert() // not before what this node cannot prove has a floor
	return done, nil
}

// supposed is what counts as agreed. A node that was started when too few others were up asks in vain whether its disk is an
// old copy, and raft does not run: then it is all that is in its log.
func (c *Cluster) supposed() (*State, error) {
	if c.proved.Load() || c.agreement.runs() {
		return c.State(), nil
	}
	return c.agreement.supposed()
}

// assert ends that asking: a recovery says that nobody is left who could answer.
func (c *Cluster) assert() { c.asserting.Do(func() { close(c.asserted) }) }

func (c *Cluster) answerRecover(ctx context.Context, q recovery) (nothing, error) {
	return nothing{}, c.agreement.propose(ctx, command{Recover: &q})
}

// goneNodes are the lost nodes that are members still, none of which may answer.
func (c *Cluster) goneNodes(ctx context.Context, s *State, lost []string) (map[ring.NodeID]Node, error) {
	gone := map[ring.NodeID]Node{}
	for _, name := range lost {
		n, err := s.find(name)
		switch _, was := s.Removed[n.ID]; {
		case err != nil && was:
			continue
		case err != nil:
			return nil, err
		case n.ID == c.config.ID:
			return nil, fmt.Errorf("%w: %q is this node; ask one that is left", ErrAlive, name)
		}
		p, err := call[pong](ctx, c.config.Peers, c.addressFor(n), kindPing, nothing{})
		if err == nil && p.ID == n.ID || err != nil && !unanswered(err) {
			return nil, fmt.Errorf("%w: %q at %s; stop it for good first, or leave it out", ErrAlive, name, c.addressFor(n))
		}
		gone[n.ID] = n
	}
	if !s.Founded() {
		return nil, ErrNotFounded
	}
	return gone, nil
}

// A survey is what a node knows before a forced recovery.
type survey struct {
	ID      ring.NodeID `json:"id"`
	Cluster Unique      `json:"cluster"`
	Version uint64      `json:"version"`
	// Epochs are the highest epochs of the partitions that the node knows of.
	Epochs []uint64 `json:"epochs"`
	// Proved says that the node's disk was found to be no old copy.
	Proved bool `json:"proved"`
}

func (c *Cluster) answerSurvey(context.Context, nothing) (survey, error) {
	s, err := c.supposed()
	if err != nil {
		return survey{}, err
	}
	known := survey{ID: c.config.ID, Cluster: s.Cluster, Version: s.Version, Epochs: epochsOf(s), Proved: c.proved.Load()}
	if c.config.Epochs != nil {
		known.Epochs = higher(known.Epochs, c.config.Epochs())
	}
	return known, nil
}

// epochsOf are the highest epochs that a state knows of: where a move is under way, the next one may be in use.
func epochsOf(s *State) []uint64 {
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

// higher is the higher epoch of each partition.
func higher(a, b []uint64) []uint64 {
	all := make([]uint64, max(len(a), len(b)))
	copy(all, a)
	for p, epoch := range b {
		all[p] = max(all[p], epoch)
	}
	return all
}

// A knowledge is what all nodes that are left know together.
type knowledge struct {
	epochs  []uint64             // the highest ones of the partitions
	doubted map[ring.NodeID]bool // whose registers may be those of an old copy
}

func (k *knowledge) add(s survey) {
	k.epochs = higher(k.epochs, s.Epochs)
	if !s.Proved {
		k.doubted[s.ID] = true
	}
}

// surveyAll asks every node that is left what it knows.
func (c *Cluster) surveyAll(ctx context.Context, s *State, gone map[ring.NodeID]Node) (*knowledge, error) {
	own, err := c.answerSurvey(ctx, nothing{})
	if err != nil {
		return nil, err
	}
	known := &knowledge{epochs: epochsOf(s), doubted: map[ring.NodeID]bool{}}
	known.add(own)
	var mu sync.Mutex
	var problems []error
	c.eachLeft(s, gone, func(n Node) {
		said, err := call[survey](ctx, c.config.Peers, c.addressFor(n), kindSurvey, nothing{})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%w: %q, which is not said to be lost: start it, or name it too: %w", ErrUnreachable, n.Name, err))
			return
		case said.ID != n.ID:
			problems = append(problems, fmt.Errorf("%w: %q; node %s answers at its address", ErrUnreachable, n.Name, said.ID))
		case said.Version > 0 && said.Cluster != s.Cluster:
			problems = append(problems, fmt.Errorf("%w: %q is in cluster %s now", ErrForeign, n.Name, said.Cluster))
		case said.Version > s.Version:
			problems = append(problems, fmt.Errorf("%w: node %q knows more than this one; ask it to recover", ErrStale, n.Name))
		}
		known.add(said)
	})
	return known, errors.Join(problems...)
}

// addressFor is where a member is, by gossip, or else by what is supposed.
func (c *Cluster) addressFor(n Node) string { return cmp.Or(c.addressOf(n.ID), n.GRPC) }

// eachLeft calls f at once for every other node that is left, and waits.
func (c *Cluster) eachLeft(s *State, gone map[ring.NodeID]Node, f func(Node)) {
	var all sync.WaitGroup
	for id, n := range s.Nodes {
		if _, lost := gone[id]; !lost && id != c.config.ID {
			all.Go(func() { f(n) })
		}
	}
	all.Wait()
}

// planRecovery says where partitions go that have too few replicas left: to sets of the nodes that are left, in an epoch
// above every one that is known. It is pure.
func planRecovery(s *State, gone map[ring.NodeID]Node, known *knowledge) (*recovery, Recovery, error) {
	var members []ring.Member
	for id, n := range s.Nodes {
		if _, lost := gone[id]; !lost {
			members = append(members, ring.Member{ID: id, Zone: n.Zone})
		}
	}
	current := make([][]ring.NodeID, len(s.Table.Places))
	for p, place := range s.Table.Places {
		current[p] = place.Replicas
	}
	sets, err := ring.Assign(current, members, len(current), ring.Replication(len(members), s.Replicas))
	if err != nil {
		return nil, Recovery{}, err
	}
	what := &recovery{Lost: slices.SortedFunc(maps.Keys(gone), ring.NodeID.Compare)}
	var done Recovery
	for p, place := range s.Table.Places {
		left := 0
		for _, id := range place.Replicas {
			_, member := s.Nodes[id]
			if _, lost := gone[id]; member && !lost && !known.doubted[id] {
				left++
			}
		}
		switch {
		case left < ring.Enough(len(place.Replicas)):
			what.Places = append(what.Places, change{Partition: ring.Partition(p), Epoch: known.epochs[p] + 1, Replicas: sets[p]})
			done.Floored++
		case left < len(place.Replicas):
			done.Moved++
		}
	}
	return what, done, nil
}

// leaderless says whether raft has too few voters left to elect a leader.
func (c *Cluster) leaderless(gone map[ring.NodeID]Node) bool {
	voters, left := 0, 0
	for _, s := range c.agreement.servers() {
		if !s.Voter {
			continue
		}
		voters++
		if _, lost := gone[s.ID]; !lost {
			left++
		}
	}
	return left < ring.Majority(voters)
}

// A resetNotice says which cluster a node is to learn anew.
type resetNotice struct {
	Cluster Unique `json:"cluster"`
	By      string `json:"by"` // the name of the node that recovers it
}

// recoverRaft empties the logs of all others that are left, which then cannot elect anybody, and makes this node lead
// alone. The others are added again, since they are members.
func (c *Cluster) recoverRaft(ctx context.Context, s *State, gone map[ring.NodeID]Node) error {
	var mu sync.Mutex
	var problems []error
	c.eachLeft(s, gone, func(n Node) {
		_, err := callFor[nothing](ctx, c.config.Peers, leadTime, c.addressFor(n), kindReset, resetNotice{s.Cluster, c.config.Name})
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, fmt.Errorf("%w: %q has not emptied its raft log; recover again: %w", ErrUnreachable, n.Name, err))
		}
	})
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return c.agreement.recoverAlone(ctx)
}

// answerReset empties raft's log here, for a node that recovers the cluster.
func (c *Cluster) answerReset(_ context.Context, q resetNotice) (nothing, error) {
	if !c.rescue.TryLock() {
		return nothing{}, fmt.Errorf("%w: node %q is recovering the cluster itself", ErrStale, c.config.Name)
	}
	defer c.rescue.Unlock()
	if s := c.State(); s.Founded() && s.Cluster != q.Cluster {
		return nothing{}, fmt.Errorf("%w: this node is in cluster %s", ErrForeign, s.Cluster)
	}
	if err := c.record.belong(q.Cluster); err != nil { // or this node, if it was the founder, would found it again
		return nothing{}, err
	}
	c.logger.Warn("a node recovers the cluster by force: this node's raft log begins anew", "by", q.By)
	if err := c.agreement.reset(); err != nil {
		return nothing{}, err
	}
	c.assert() // the leader asks this node's mark when it lets it in
	return nothing{}, nil
}
