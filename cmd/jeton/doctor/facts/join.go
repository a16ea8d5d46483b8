package facts

import (
	"context"
	"net"
	"time"

	"github.com/jeton-dev/jeton/cmd/node"
)

// A Joined is an address of --join, at which the node looks for others.
type Joined struct {
	Address string `json:"address"`
	Wrong   string `json:"wrong,omitempty"` // why its host has no address; empty if it has one
}

// resolveWithin is how long the hosts of --join may take to be resolved.
const resolveWithin = 5 * time.Second

// joinedBy resolves the hosts at which a node looks for others.
func joinedBy(ctx context.Context, c *node.Config) (all []Joined) {
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	for _, address := range c.Join {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			continue // the node does not take it
		}
		j := Joined{Address: address}
		if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
			j.Wrong = err.Error()
		}
		all = append(all, j)
	}
	return all
}
