package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/nodes"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// How the table is watched.
const (
	heardWithin = time.Second           // a node that says nothing by then is left
	firstWatch  = 50 * time.Millisecond // the first pause between two attempts
	lastWatch   = time.Second           // the longest one
	rareWatch   = 30 * time.Second      // the longest one where no node knows tables
)

// A watch is the state of the goroutine that watches the table. Guarded by Client.mu.
type watch struct {
	at     *nodes.Node        // the node that is watched; nil between two
	leave  context.CancelFunc // leaves it
	prefer *nodes.Node        // the one to go to next; nil for any
	told   uint64             // the highest version of the table in the answers so far
	poke   chan struct{}      // has a value when the next attempt is not to wait
}

// watchTables watches the table at one node after the other, each for as long as it goes well.
func (c *Client) watchTables(ctx context.Context) {
	pause := firstWatch
	for turn := rand.IntN(1 << 16); ctx.Err() == nil; turn++ {
		heard, err := c.watchAt(ctx, c.lookout(turn))
		longest := lastWatch
		if status.Code(err) == codes.Unimplemented {
			longest = rareWatch
		}
		if heard {
			pause = firstWatch
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.watch.poke:
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, longest)
	}
}

// lookout is the node to watch next: the one that knows of a newer table, or else one that is good, in turns.
func (c *Client) lookout(turn int) *nodes.Node {
	c.mu.Lock()
	prefer := c.watch.prefer
	c.watch.prefer = nil
	c.mu.Unlock()
	if prefer != nil {
		return prefer
	}
	seats := c.nodes.Others()
	for i := range seats {
		if s := seats[(turn+i)%len(seats)]; s.Good() && !s.Leaving {
			return s.Node
		}
	}
	return seats[turn%len(seats)].Node
}

// watchAt watches the table at one node. It says whether it heard of one, and why it ended.
func (c *Client) watchAt(ctx context.Context, n *nodes.Node) (heard bool, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	c.mu.Lock()
	c.watch.at, c.watch.leave = n, leave
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.watch.at, c.watch.leave = nil, nil
		c.mu.Unlock()
	}()
	silent := time.AfterFunc(heardWithin, leave)
	defer silent.Stop()
	stream, err := pb.NewClusterClient(n.Conn()).Watch(ctx, &pb.WatchRequest{})
	if err != nil {
		n.Note(pb.DecodeError(err))
		return false, err
	}
	for {
		m, err := stream.Recv()
		silent.Stop()
		if err != nil {
			n.Note(pb.DecodeError(err))
			return heard, err
		}
		v, err := pb.DecodeView(m)
		if err != nil {
			return heard, err
		}
		heard = true
		if c.nodes.Apply(v) {
			c.limits.hear(v)
		}
		if c.elsewhere(n) {
			return heard, nil
		}
	}
}

// elsewhere says whether n is about to stop while other nodes are not.
func (c *Client) elsewhere(n *nodes.Node) bool {
	leaving, others := false, false
	for _, s := range c.nodes.Members() {
		switch {
		case s.Node == n:
			leaving = s.Leaving
		case s.Good() && !s.Leaving:
			others = true
		}
	}
	return leaving && others
}

// avoid leaves a node that is good no more, if it is the one that is watched and there is another one.
func (c *Client) avoid(n *nodes.Node) {
	others := false
	for _, s := range c.nodes.Others() {
		others = others || s.Node != n && s.Good()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if others && c.watch.at == n {
		c.watch.leave()
	}
}

// heardOf is called when n reports a newer table, and has it fetched from there at once.
func (c *Client) heardOf(n *nodes.Node, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version <= c.watch.told || c.watch.at == n {
		return
	}
	c.watch.told, c.watch.prefer = version, n
	if c.watch.leave != nil {
		c.watch.leave()
	}
	select {
	case c.watch.poke <- struct{}{}:
	default:
	}
}
