package cluster

import (
	"context"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// Leave tells every node at once that this one is about to stop, so that callers ask the others first. It returns when all
// that are alive have heard it, or when ctx ends. It is not agreed on, moves no partition, and ends when this node starts
// again. When Run ends after it, gossip says that this node has left.
func (c *Cluster) Leave(ctx context.Context) {
	c.gossip.say(func(own *card) { own.Phase = phaseLeaving })
	var all sync.WaitGroup
	for _, address := range c.livingAddresses() {
		all.Go(func() {
			_, err := call[nothing](ctx, c.config.Peers, address, kindLeaving, leavingNotice{c.config.ID, c.process})
			if err != nil {
				c.logger.Debug("a node has not heard that this one is leaving, but for gossip", "address", address, "error", err)
			}
		})
	}
	all.Wait()
	c.agreement.passOn(ctx)
}

// passOn gives the leadership away, if this node has it and another one can take it.
func (a *agreement) passOn(ctx context.Context) {
	if leading, _ := a.leading(); leading && !a.alone() {
		if err := a.handOver(ctx); err != nil {
			a.logger.Debug("the leadership was not handed over; the others notice", "error", err)
		}
	}
}

// A leavingNotice says that a process is about to stop.
type leavingNotice struct {
	ID      ring.NodeID   `json:"id"`
	Process agreed.Unique `json:"process"`
}

func (c *Cluster) answerLeaving(_ context.Context, q leavingNotice) (nothing, error) {
	c.gossip.leaves(q.ID, q.Process.String())
	return nothing{}, nil
}
