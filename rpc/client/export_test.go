package client

import (
	"context"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/rpc/nodes"
)

// AwaitConnections returns when every connection to every node is open and no node seems silent, or ctx has ended.
func (c *Client) AwaitConnections(ctx context.Context) {
	c.nodes.AwaitConnections(ctx)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for ctx.Err() == nil && c.Bad() {
		<-again.C // a node that is not good is looked at in the background
	}
}

// Tries are how many calls there were, how many were hedged, and how many attempts came after one that failed.
func (c *Client) Tries() (calls, hedges, retries uint64) {
	calls, hedges, retries, _ = c.nodes.Counts()
	return calls, hedges, retries
}

// Bad says whether a node is not expected to answer.
func (c *Client) Bad() bool {
	return slices.ContainsFunc(c.nodes.Others(), func(s nodes.Seat) bool { return !s.Good() })
}

// Unsent are how many checks were refused at once.
func (c *Client) Unsent() uint64 {
	_, _, _, unsent := c.nodes.Counts()
	return unsent
}
