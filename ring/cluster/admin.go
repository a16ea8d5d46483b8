package cluster

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// CheckLimits says why a limits document would be refused, whatever its version: ErrInvalid for one that is wrong, ErrLevel for one with fields
// that only a higher level of the cluster allows.
func (c *Cluster) CheckLimits(text []byte) error {
	if c.config.Check == nil {
		return nil
	}
	needed, err := c.config.Check(text)
	if err != nil {
		return fmt.Errorf("%w: %w", agreed.ErrInvalid, err)
	}
	if now := c.State().AgreedLevel(); needed > now {
		return fmt.Errorf("%w: it is %d, and the document has fields that take %d, which not every node may know: jeton cluster upgrade raises it",
			agreed.ErrLevel, now, needed)
	}
	return nil
}

// SetLimits puts another limits document in force, if the one in force is of that version. It returns
// the new version once this node knows it: what CheckLimits says, or ErrStale when another version is in
// force. While the cluster has no leader it waits, until ctx ends: then it is ErrNoLeader, and the change may or may not
// take effect.
func (c *Cluster) SetLimits(ctx context.Context, version uint64, text []byte) (uint64, error) {
	if err := c.CheckLimits(text); err != nil {
		return 0, err
	}
	change := agreed.SetLimits{Base: version, Limits: text, At: c.config.Now()}
	if s := c.State(); c.config.Reaches != nil && s.LimitsVersion == version { // at another version it is refused
		change.Shorter, change.Longer = c.config.Reaches(s, text)
	}
	now, err := message.AskLeader[uint64](ctx, c.leader, message.KindLimits, limitsRequest{
		SetLimits: change, By: c.entry(ctx, agreed.VerbSetLimits, fmt.Sprintf("version %d", version+1), ""),
	})
	if err != nil {
		return 0, err
	}
	for {
		changed := c.Changed()
		if c.State().LimitsVersion >= now {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, nil // it is in force; this node is late
		}
	}
}

// A limitsRequest is a change of the limits, with what the audit log says of it.
type limitsRequest struct {
	agreed.SetLimits

	By *agreed.Entry `json:"by,omitempty"`
}

func (c *Cluster) answerLimits(ctx context.Context, q limitsRequest) (uint64, error) {
	if err := c.agreement.Propose(ctx, agreed.Command{SetLimits: &q.SetLimits, By: q.By}); err != nil {
		return 0, err
	}
	if s := c.agreement.State(); bytes.Equal(q.Limits, s.Limits) { // which may have been in force already
		return s.LimitsVersion, nil
	}
	return q.Base + 1, nil
}

// Drain has every partition moved off a node, by its name or its id in hexadecimal; Undrain takes that back. It is refused
// (ErrTooFew) where the nodes left could not keep as many replicas as there are. left is how many partitions the node still
// keeps, or is about to, as the leader knows: at 0 it can be stopped. A node that was removed keeps nothing, so that a Job may drain it again.
// Waits for a leader as SetLimits does.
func (c *Cluster) Drain(ctx context.Context, node string) (left int, err error) {
	a, err := message.AskLeader[drainAnswer](ctx, c.leader, message.KindDrain, drainRequest{Node: node, By: c.entry(ctx, agreed.VerbDrain, "", "")})
	return a.Left, err
}

// Undrain lets a node have partitions again.
func (c *Cluster) Undrain(ctx context.Context, node string) error {
	_, err := message.AskLeader[drainAnswer](ctx, c.leader, message.KindDrain, drainRequest{Node: node, Undo: true, By: c.entry(ctx, agreed.VerbUndoDrain, "", "")})
	return err
}

type drainRequest struct {
	Node string `json:"node"`
	Undo bool   `json:"undo,omitempty"`
	// By is what the audit log says of it. The leader adds the name of the node.
	By *agreed.Entry `json:"by,omitempty"`
}

// A drainAnswer tells how far a drain is. It is the leader's to tell: another node may know nothing of the node yet, and
// would take it for empty.
type drainAnswer struct {
	Left int `json:"left"`
}

func (c *Cluster) answerDrain(ctx context.Context, q drainRequest) (a drainAnswer, err error) {
	s := c.agreement.State()
	n, err := s.Find(q.Node)
	_, gone := s.Removed[n.ID]
	switch {
	case err != nil && gone && !q.Undo:
		return a, nil // it keeps nothing
	case err != nil:
		return a, err
	case q.Undo:
		return a, c.agreement.Propose(ctx, agreed.Command{Undrain: &agreed.Undrain{ID: n.ID}, By: about(q.By, n)})
	}
	if err := c.agreement.Propose(ctx, agreed.Command{Drain: &agreed.Drain{ID: n.ID}, By: about(q.By, n)}); err != nil {
		return a, err
	}
	a.Left = c.agreement.State().Kept(n.ID)
	return a, nil
}

// Remove takes a node, by its name or its id, out of the cluster for ever: the cluster never takes its disk back. It is refused
// while the node has partitions (ErrHasPlaces: drain it first), and where fewer nodes would be left than each partition has
// replicas (ErrTooFew). force overrules both for a node that does not answer (otherwise ErrAlive), but the last node always stays, and
// enough replicas of each partition must be left to move it. Waits for a leader as SetLimits does.
//
// It succeeds again for a node that was removed already: the answer to an earlier request may have been lost. If another node has
// taken the name since, the name means that node; only an id is always the same node.
func (c *Cluster) Remove(ctx context.Context, node string, force bool) error {
	forced := ""
	if force {
		forced = "forced"
	}
	_, err := message.AskLeader[message.Nothing](ctx, c.leader, message.KindRemove, removeRequest{Node: node, Force: force, By: c.entry(ctx, agreed.VerbRemove, "", forced)})
	return err
}

type removeRequest struct {
	Node  string `json:"node"`
	Force bool   `json:"force,omitempty"`
	// By is what the audit log says of it. The leader adds the name of the node.
	By *agreed.Entry `json:"by,omitempty"`
}

// removalPing is how long a node that is to be removed by force may take to say that it is alive.
const removalPing = time.Second

func (c *Cluster) answerRemove(ctx context.Context, q removeRequest) (message.Nothing, error) {
	s := c.agreement.State()
	n, err := s.Find(q.Node)
	if err != nil {
		if _, gone := s.Removed[n.ID]; gone {
			return message.Nothing{}, nil // perhaps by this very request, whose answer was lost
		}
		return message.Nothing{}, err
	}
	left, replicas := len(s.Nodes)-1, ring.Replication(len(s.Nodes), s.Replicas)
	if left < replicas && !q.Force {
		return message.Nothing{}, fmt.Errorf("%w: %d without %q, and each partition has %d replicas; add a node first, or, if it is lost for good, give --force",
			agreed.ErrTooFew, left, n.Name, replicas)
	}
	if q.Force && left > 0 && s.Kept(n.ID) > 0 && c.isAlive(ctx, n) {
		return message.Nothing{}, fmt.Errorf("%w: %q keeps partitions: jeton cluster drain moves them off; if it is to go without that, stop it for good, then remove it with --force",
			message.ErrAlive, n.Name)
	}
	return message.Nothing{}, c.agreement.Propose(ctx, agreed.Command{Remove: &agreed.Remove{ID: n.ID, Force: q.Force}, By: about(q.By, n)})
}

// isAlive says whether a member answers this node.
func (c *Cluster) isAlive(ctx context.Context, n agreed.Node) bool {
	if n.ID == c.config.ID {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, removalPing)
	defer cancel()
	p, err := c.health.Ping(ctx, c.directory.AddressOfNode(n))
	return err == nil && p.ID == n.ID || err != nil && !message.Unanswered(err)
}

// Recover makes a cluster of the nodes that are left, after more were lost for ever than it can bear. lost are the names
// or ids of all nodes that do not answer: they are removed, and never taken back. See package recovery.
func (c *Cluster) Recover(ctx context.Context, lost []string) (agreed.Recovery, error) {
	return c.recoverer.Recover(ctx, lost)
}

// Leave tells every node at once that this one is about to stop, so that callers ask the others first. It returns when all
// that are alive have heard it, or when ctx ends. It is not agreed on, moves no partition, and ends when this node starts
// again. When Run ends after it, gossip says that this node has left.
func (c *Cluster) Leave(ctx context.Context) { c.joiner.Leave(ctx) }
