package client

import (
	"context"

	"google.golang.org/grpc/connectivity"
)

// AwaitConnections returns when every connection is open, or ctx has ended.
func (c *Client) AwaitConnections(ctx context.Context) {
	for _, conn := range c.conns {
		for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
			conn.Connect()
			if !conn.WaitForStateChange(ctx, state) {
				return
			}
		}
	}
}
