package node

import (
	"context"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
)

// edgeTimeout is how long a check of the program around the node may wait for a lease, when its context has no deadline.
const edgeTimeout = time.Second

// openEdge makes the edge that the program around the node asks. The node's servers do not: who asks over the network is decided by owners, or is an edge itself.
func (n *Node) openEdge() (err error) {
	n.besides.begin()
	n.opened.Add(func(context.Context) error {
		n.besides.end()
		return nil
	})
	n.edge, err = edge.New(edge.Config{
		Cluster: n.decides, Limits: n.Limits, Go: n.besides.run, Timeout: edgeTimeout, Edges: n.cfg.Edges, RepeatDenials: n.cfg.RepeatDenials, Name: n.cfg.Name, Registerer: n.metrics,
	})
	n.Limiter = n.edge
	return err
}

// besides are goroutines that run until end.
type besides struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
	life    context.Context //nolint:containedctx // of them all
	cancel  context.CancelFunc
}

func (b *besides) begin() { b.life, b.cancel = context.WithCancel(context.Background()) }

// run runs f until it returns; its context ends with end. It returns false, without running f, after that.
func (b *besides) run(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false
	}
	b.running.Go(func() { f(b.life) })
	return true
}

// end ends them all, and waits until they have.
func (b *besides) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.cancel()
	b.running.Wait()
}
