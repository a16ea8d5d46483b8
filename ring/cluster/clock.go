package cluster

import (
	"context"
	"time"

	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// answerNow tells this node's clock.
func (c *Cluster) answerNow(context.Context, message.Nothing) (int64, error) {
	return c.config.Now(), nil
}

func (c *Cluster) askNow(ctx context.Context, address string) (int64, error) {
	return message.Call[int64](ctx, c.config.Peers, address, message.KindNow, message.Nothing{})
}

// CompareClocks asks the other members for their clocks, until so many are heard as could put this node's forward, or all
// others where they are fewer, but for no longer than 3 seconds: they may be down. A node that has just started calls it before
// HighestNow.
func (c *Cluster) CompareClocks(ctx context.Context) { c.clocks.Gather(ctx, c.otherMembers) }

// ClockOffset is how far the clocks of a majority of all living nodes are ahead of this node's, and from how many others it
// was heard. It is 0 while as many are behind it as are ahead.
func (c *Cluster) ClockOffset() (ahead time.Duration, heard int) {
	known := c.clocks.Comparison()
	return time.Duration(known.Offset()), len(known.Ahead)
}

// ClockAgrees says whether this node's clock is within 250 ms of those of a majority of the living nodes: near enough to
// serve and to sweep. It is true while fewer than two other clocks were heard: it cannot be told which of two is wrong.
func (c *Cluster) ClockAgrees() bool { return c.clocks.Agrees() }

// HighestNow is the highest of the clocks that were heard, this node's included, as they stand now, in nanoseconds.
func (c *Cluster) HighestNow() int64 { return c.clocks.Highest() }
