package client

import (
	"context"

	"google.golang.org/grpc/connectivity"
)

// AwaitConnections returns when every connection to every node is open, or ctx has ended.
func (c *Client) AwaitConnections(ctx context.Context) {
	for _, s := range c.everywhere() {
		for _, conn := range s.conns {
			for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
				conn.Connect()
				if !conn.WaitForStateChange(ctx, state) {
					return
				}
			}
		}
	}
}

// Tries are how many calls there were, how many second tries, and how many tries after one that failed.
func (c *Client) Tries() (calls, second, again uint64) {
	return c.counts.calls.Load(), c.counts.second.Load(), c.counts.again.Load()
}

// Unsent are how many checks were refused at once.
func (c *Client) Unsent() uint64 { return c.counts.unsent.Load() }
