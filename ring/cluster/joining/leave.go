package joining

import (
	"context"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Leave tells every node at once that this one is about to stop, so that callers ask the others first. It returns when all
// that are alive have heard it, or when ctx ends. It is not agreed on, moves no partition, and ends when this node starts
// again. When Run ends after it, gossip says that this node has left.
func (j *Joiner) Leave(ctx context.Context) {
	j.gossip.Say(func(own *gossip.NodeMeta) { own.Phase = gossip.PhaseLeaving })
	var all sync.WaitGroup
	for _, address := range j.directory.Living() {
		all.Go(func() {
			_, err := message.Call[message.Nothing](ctx, j.config.Peers, address, message.KindLeaving, leavingNotice{j.config.Self.ID, j.process})
			if err != nil {
				j.logger.Debug("cannot notify a node that this one is leaving; gossip tells it", "address", address, "error", err)
			}
		})
	}
	all.Wait()
	j.agreement.PassOn(ctx)
}

// A leavingNotice says that a process is about to stop.
type leavingNotice struct {
	ID      ring.NodeID   `json:"id"`
	Process agreed.Unique `json:"process"`
}

func (j *Joiner) answerLeaving(_ context.Context, q leavingNotice) (message.Nothing, error) {
	j.gossip.Leaves(q.ID, q.Process.String())
	return message.Nothing{}, nil
}
