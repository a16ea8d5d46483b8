package xds

import (
	"context"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// Follow calls take with each configuration, until ctx ends. An error of take is sent to the server. Follow is called once.
func (c *Client) Follow(ctx context.Context, take func([]descriptors.Resource) error) {
	for {
		err := c.session(ctx, take)
		c.metrics.connected.Set(0)
		if ctx.Err() != nil {
			return
		}
		c.failed(err)
		if wait(ctx, c.next()) != nil {
			return
		}
	}
}
