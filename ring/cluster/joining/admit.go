package joining

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// A joinRequest asks the leader to let a node in, or to note its new addresses.
type joinRequest struct {
	Node agreed.Node `json:"node"`
	// Before is the mark that the node's disk had before the node started.
	Before agreed.Mark `json:"before"`
	// Levels are those that the node knows; nil from one that does not tell, which knows the first.
	Levels *level.Range `json:"levels,omitempty"`
}

// answerJoin lets a node in, on the leader: nodes are let in one after another. It may be asked again and again.
func (j *Joiner) answerJoin(ctx context.Context, q joinRequest) (message.Nothing, error) {
	select {
	case j.admission <- struct{}{}:
		defer func() { <-j.admission }()
	case <-ctx.Done():
		return message.Nothing{}, fmt.Errorf("%w: %w", message.ErrNoLeader, ctx.Err())
	}
	s, n := j.agreement.State(), q.Node
	if !s.Founded() {
		return message.Nothing{}, fmt.Errorf("%w: %w", message.ErrNoLeader, agreed.ErrNotFounded)
	}
	if name, removed := s.Removed[n.ID]; removed {
		return message.Nothing{}, RemovedError(n.ID, name)
	}
	if err := admissibleAt(s.AgreedLevel(), level.Told(q.Levels)); err != nil {
		return message.Nothing{}, err
	}
	known, member := s.Nodes[n.ID]
	highest, marked := j.agreement.HighestMark(n.ID)
	if marked && highest.Compare(q.Before) > 0 {
		return message.Nothing{}, fmt.Errorf("%w: its mark is %s, and the cluster has seen %s", message.ErrOldCopy, q.Before, highest)
	}
	if other, taken := s.Named(n.Name); taken && other.ID != n.ID {
		if member {
			return message.Nothing{}, nameTakenText(other)
		}
		return message.Nothing{}, j.replaceDead(ctx, s, other, n)
	}
	if member && sameAddresses(known, n) {
		return message.Nothing{}, nil
	}
	if _, err := j.checkReachable(ctx, n.ID, n); err != nil {
		return message.Nothing{}, err
	}
	if err := j.agreement.Propose(ctx, agreed.Command{Join: &agreed.Join{Node: n}, Level: s.Level}); err != nil {
		return message.Nothing{}, err
	}
	j.logger.Info("a node joined or changed its addresses", "node", n.Name, "id", n.ID, "grpc", n.GRPC)
	return message.Nothing{}, nil
}

// admissibleAt refuses a node that does not know the level of the cluster.
func admissibleAt(now int, knows level.Range) error {
	if knows.Has(now) {
		return nil
	}
	if now > knows.Newest {
		return fmt.Errorf("%w: the cluster is at level %d, and this node knows level %s: run a release that knows it (jeton cluster status shows those of the members)",
			message.ErrForeign, now, knows)
	}
	return fmt.Errorf("%w: the cluster is at level %d, and this node knows levels %s: upgrade release by release, and raise the level after each (jeton cluster upgrade)",
		message.ErrForeign, now, knows)
}

// replaceDead lets n in at the place of a member of s of the same name, if that is dead.
func (j *Joiner) replaceDead(ctx context.Context, s *agreed.State, old, n agreed.Node) error {
	if !j.isDead(ctx, old) {
		return nameTakenText(old)
	}
	if _, err := j.checkReachable(ctx, n.ID, n); err != nil {
		return err
	}
	if err := j.agreement.Propose(ctx, agreed.Command{Replace: &agreed.Replace{Old: old.ID, New: n}, Level: s.Level}); err != nil {
		return err
	}
	j.logger.Info("a new disk replaces a dead node", "node", n.Name, "old", old.ID, "new", n.ID)
	return nil
}

func nameTakenText(other agreed.Node) error {
	return fmt.Errorf("%w: %q is node %s at %s, which is alive; give this node another --node-name, or stop the other node for good first",
		agreed.ErrNameTaken, other.Name, other.ID, other.GRPC)
}

// RemovedError is ErrRemoved for a node, with what to do.
func RemovedError(id ring.NodeID, name string) error {
	return fmt.Errorf("%w: this data directory belongs to node %s (%q); start with an empty data directory to join as a new node",
		agreed.ErrRemoved, id, name)
}

func sameAddresses(a, b agreed.Node) bool {
	return a.Name == b.Name && a.Zone == b.Zone && a.GRPC == b.GRPC && a.HTTP == b.HTTP && a.Gossip == b.Gossip && a.Raft == b.Raft
}

// isDead says whether a member is gone: another node answers at its address, or no node does and either gossip has not heard of
// it or its machine says that no process listens there. A node that is merely not heard may be alive on
// the other side of a partition, so this is asked only for a new disk of the same name.
func (j *Joiner) isDead(ctx context.Context, n agreed.Node) bool {
	p, err := message.Call[message.Pong](ctx, j.config.Peers, n.GRPC, message.KindPing, message.Nothing{})
	if err == nil {
		return p.ID != n.ID
	}
	if !message.Unanswered(err) {
		return false // a node is there
	}
	if !j.gossip.Alive(n.ID) || errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	return errors.Is(dial(ctx, n.Raft), syscall.ECONNREFUSED)
}

// checkReachable calls the node id back at the addresses that n advertises, and has it say which levels it knows.
func (j *Joiner) checkReachable(ctx context.Context, id ring.NodeID, n agreed.Node) (level.Range, error) {
	p, err := message.Call[message.Pong](ctx, j.config.Peers, n.GRPC, message.KindPing, message.Nothing{})
	switch {
	case err != nil:
		return level.Range{}, fmt.Errorf("%w at %s, its gRPC address (see --advertise and --listen-grpc there): %w", message.ErrUnreachable, n.GRPC, err)
	case p.ID != id:
		return level.Range{}, fmt.Errorf("%w at %s, its gRPC address: node %s answers there (see --advertise there)", message.ErrUnreachable, n.GRPC, p.ID)
	}
	if err := dial(ctx, n.Raft); err != nil {
		return level.Range{}, fmt.Errorf("%w at %s, its raft address (see --advertise and --listen-raft there): %w", message.ErrUnreachable, n.Raft, err)
	}
	return p.Knows(), nil
}

// dial says why there is no TCP connection to an address to be had, if there is none.
func dial(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, message.CallTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
