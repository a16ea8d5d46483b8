package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// How the table is watched.
const (
	heardWithin = time.Second      // a node that says nothing by then is left
	firstWatch  = firstPause       // the first pause between two attempts
	lastWatch   = lastPause        // the longest one
	rareWatch   = 30 * time.Second // the longest one where nobody knows of tables
)

// A watch is the state of the goroutine that watches the table. Guarded by Client.mu.
type watch struct {
	at     *node              // the node that is watched; nil between two
	leave  context.CancelFunc // leaves it
	prefer *node              // the one to go to next; nil for any
	told   uint64             // the highest version that an answer told of
	poke   chan struct{}      // has something when there shall be no pause
}

// keepTable begins to keep the table up to date.
func (c *Client) keepTable() {
	if c.tables != nil {
		c.begin(c.followTables)
		return
	}
	c.begin(c.watchTables)
}

// followTables keeps the table of a client inside a node.
func (c *Client) followTables(ctx context.Context) {
	for {
		v, changed := c.tables()
		c.accept(v)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// accept is apply for what may be nothing yet.
func (c *Client) accept(v *View) {
	if v != nil {
		c.apply(v)
	}
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
func (c *Client) lookout(turn int) *node {
	c.mu.Lock()
	prefer := c.watch.prefer
	c.watch.prefer = nil
	c.mu.Unlock()
	if prefer != nil {
		return prefer
	}
	seats := c.everywhere()
	for i := range seats {
		if s := seats[(turn+i)%len(seats)]; s.good() && !s.leaving {
			return s.node
		}
	}
	return seats[turn%len(seats)].node
}

// watchAt watches the table at one node. It says whether it heard of one, and why it ended.
func (c *Client) watchAt(ctx context.Context, n *node) (heard bool, err error) {
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
	stream, err := pb.NewClusterClient(n.conn()).Watch(ctx, &pb.WatchRequest{})
	if err != nil {
		n.answered(pb.DecodeError(err))
		return false, err
	}
	for {
		m, err := stream.Recv()
		silent.Stop()
		if err != nil {
			n.answered(pb.DecodeError(err))
			return heard, err
		}
		v, err := pb.DecodeView(m)
		if err != nil {
			return heard, err
		}
		heard = true
		c.apply(v)
		if c.elsewhere(n) {
			return heard, nil
		}
	}
}

// elsewhere says whether n is about to stop while other nodes are not.
func (c *Client) elsewhere(n *node) bool {
	leaving, others := false, false
	for _, s := range c.table.Load().all {
		switch {
		case s.node == n:
			leaving = s.leaving
		case s.good() && !s.leaving:
			others = true
		}
	}
	return leaving && others
}

// avoid leaves a node that is good no more, if it is the one that is watched and there is another one.
func (c *Client) avoid(n *node) {
	others := false
	for _, s := range c.everywhere() {
		others = others || s.node != n && s.good()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if others && c.watch.at == n {
		c.watch.leave()
	}
}

// heardOf is told that n has a table of that version. If it is newer, it is fetched from there at once.
func (c *Client) heardOf(n *node, version uint64) {
	if c.tables != nil || version <= c.Version() {
		return
	}
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
