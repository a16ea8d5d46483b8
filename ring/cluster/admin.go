package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// SetLimits puts another limits document in force, if the one in force is of that version. It returns
// the new version once this node knows it: ErrInvalid for a document that is wrong, ErrStale when another version is in
// force. While the cluster has no leader it waits, until ctx ends: then it is ErrNoLeader, and the change may or may not
// take effect.
func (c *Cluster) SetLimits(ctx context.Context, version uint64, text []byte) (uint64, error) {
	if c.config.Check != nil {
		if err := c.config.Check(text); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	now, err := lead[uint64](ctx, c, kindLimits, setLimits{Base: version, Limits: text})
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

func (c *Cluster) answerLimits(ctx context.Context, q setLimits) (uint64, error) {
	if err := c.agreement.propose(ctx, command{SetLimits: &q}); err != nil {
		return 0, err
	}
	if s := c.agreement.state(); bytes.Equal(q.Limits, s.Limits) { // which may have been in force already
		return s.LimitsVersion, nil
	}
	return q.Base + 1, nil
}

// Drain has every partition moved off a node, by its name or its id in hexadecimal; Undrain takes that back. It is refused
// (ErrTooFew) where the nodes left could not keep as many replicas as there are. left is how many partitions the node still
// keeps, or is about to, as the leader knows: at 0 it can be stopped. Waits for a leader as SetLimits does.
func (c *Cluster) Drain(ctx context.Context, node string) (left int, err error) {
	a, err := lead[drainAnswer](ctx, c, kindDrain, drainRequest{Node: node})
	return a.Left, err
}

// Undrain lets a node have partitions again.
func (c *Cluster) Undrain(ctx context.Context, node string) error {
	_, err := lead[drainAnswer](ctx, c, kindDrain, drainRequest{Node: node, Undo: true})
	return err
}

type drainRequest struct {
	Node string `json:"node"`
	Undo bool   `json:"undo,omitempty"`
}

// A drainAnswer tells how far a drain is. It is the leader's to tell: another node may know nothing of the node yet, and
// would take it for empty.
type drainAnswer struct {
	Left int `json:"left"`
}

func (c *Cluster) answerDrain(ctx context.Context, q drainRequest) (a drainAnswer, err error) {
	n, err := c.agreement.state().find(q.Node)
	switch {
	case err != nil:
		return a, err
	case q.Undo:
		return a, c.agreement.propose(ctx, command{Undrain: &undrain{ID: n.ID}})
	}
	if err := c.agreement.propose(ctx, command{Drain: &drain{ID: n.ID}}); err != nil {
		return a, err
	}
	a.Left = c.agreement.state().kept(n.ID)
	return a, nil
}

// kept is how many partitions a node still keeps, or is about to.
func (s *State) kept(id ring.NodeID) (n int) {
	for i := range s.Table.Places {
		if p := &s.Table.Places[i]; p.Has(id) || slices.Contains(p.Next, id) {
			n++
		}
	}
	return n
}

// Remove takes a node, by its name or its id, out of the cluster for ever: its disk is never taken back. A node with
// partitions is drained first (ErrHasPlaces). It is refused (ErrTooFew) where fewer nodes would be left than there are
// replicas of each partition; force overrules both, but not that the last node stays, and that of each partition enough
// replicas have to be left to move it. Waits for a leader as SetLimits does.
func (c *Cluster) Remove(ctx context.Context, node string, force bool) error {
	_, err := lead[nothing](ctx, c, kindRemove, removeRequest{Node: node, Force: force})
	return err
}

type removeRequest struct {
	Node  string `json:"node"`
	Force bool   `json:"force,omitempty"`
}

func (c *Cluster) answerRemove(ctx context.Context, q removeRequest) (nothing, error) {
	s := c.agreement.state()
	n, err := s.find(q.Node)
	if err != nil {
		if _, gone := s.Removed[n.ID]; gone {
			return nothing{}, nil // it was, by this request perhaps
		}
		return nothing{}, err
	}
	left, replicas := len(s.Nodes)-1, ring.Replication(len(s.Nodes), s.Replicas)
	if left < replicas && !q.Force {
		return nothing{}, fmt.Errorf("%w: %d beside %q, and each partition has %d replicas; add a node first, or force it",
			ErrTooFew, left, n.Name, replicas)
	}
	return nothing{}, c.agreement.propose(ctx, command{Remove: &remove{ID: n.ID, Force: q.Force}})
}

// find is the member of that name or id. Of a node that was removed it tells, beside the error, the id.
func (s *State) find(node string) (Node, error) {
	if n, known := s.Named(node); known {
		return n, nil
	}
	id, err := ring.ParseNodeID(node)
	if n, known := s.Nodes[id]; known && err == nil {
		return n, nil
	}
	for gone, name := range s.Removed {
		if name == node {
			id = gone
		}
	}
	return Node{ID: id}, fmt.Errorf("%w: %q; it takes a node's name, or its id in hexadecimal", ErrUnknownNode, node)
}
