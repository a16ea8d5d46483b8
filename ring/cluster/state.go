package cluster

import (
	"context"
	"fmt"
	"maps"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/joining"
)

// A publishedState is a state, until changed is closed.
type publishedState struct {
	state   *agreed.State
	leaving map[ring.NodeID]bool
	agreed  *agreed.State
	changed chan struct{}
}

// State is the agreed state, as far as this node has heard, with the nodes that are leaving, as far as gossip tells. It must not be
// changed. Before the cluster is founded, and on a new node before it is let in, it has Version 0.
func (c *Cluster) State() *agreed.State { return c.published.Load().state }

// Changed is closed at the next change of State. Call it before State, or a change between the two goes unnoticed.
func (c *Cluster) Changed() <-chan struct{} { return c.published.Load().changed }

// publish publishes a new state, once its level is adopted; only New and the goroutine of followState call it.
func (c *Cluster) publish() error {
	old, now, leaving := c.published.Load(), c.agreement.State(), c.gossip.Leaving()
	if !now.Founded() && old.state.Founded() {
		now = old.agreed // raft was reset and catches up
	}
	if now == old.agreed && maps.Equal(leaving, old.leaving) {
		return nil
	}
	if err := c.adoptLevel(now); err != nil {
		return err
	}
	s := *now
	s.Nodes = maps.Clone(now.Nodes)
	for id, n := range s.Nodes {
		n.Leaving = leaving[id]
		s.Nodes[id] = n
	}
	c.published.Store(&publishedState{state: &s, leaving: leaving, agreed: now, changed: make(chan struct{})})
	close(old.changed)
	c.metrics.changes.Inc()
	if s.Founded() {
		c.gossip.Say(func(own *gossip.NodeMeta) { own.Level = s.AgreedLevel() })
	}
	if s.Nodes[c.config.ID].Process != c.process {
		return nil // while raft catches up, what it tells may be older than what is in the book
	}
	if err := c.book.Keep(s.Nodes); err != nil && c.throttle.Allow("book") {
		c.logger.Warn("cannot save the addresses of the other nodes; after a restart this node needs --join to find them", "error", err)
	}
	return nil
}

// adoptLevel adopts the level of a state, if it is another one that this node knows.
func (c *Cluster) adoptLevel(s *agreed.State) error {
	now := s.AgreedLevel()
	if c.config.AdoptLevel == nil || !s.Founded() || now == c.level || !c.config.Levels.Has(now) {
		return nil
	}
	if err := c.config.AdoptLevel(now); err != nil {
		return fmt.Errorf("adopt level %d of the cluster: %w", now, err)
	}
	c.level = now
	return nil
}

// followState shows every change until ctx ends, and ends the node when it was removed.
func (c *Cluster) followState(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		decided, gossiped := c.agreement.Changed(), c.gossip.Changed()
		if err := c.publish(); err != nil {
			cancel(err)
			return
		}
		if name, removed := c.State().Removed[c.config.ID]; removed {
			cancel(joining.RemovedError(c.config.ID, name))
		}
		if s := c.State(); s.Founded() && s.AgreedLevel() > c.config.Levels.Newest {
			cancel(fmt.Errorf("%w: it is at level %d, and this node knows levels %s: run a newer release", agreed.ErrLevel, s.AgreedLevel(), c.config.Levels))
		}
		select {
		case <-ctx.Done():
			return
		case <-decided:
		case <-gossiped:
		}
	}
}

// otherMembers are the gRPC addresses of the other members.
func (c *Cluster) otherMembers() map[ring.NodeID]string { return c.directory.OtherMembers(c.State()) }
