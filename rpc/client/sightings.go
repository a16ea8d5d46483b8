package client

import (
	"context"
	"slices"
	"sync"

	"github.com/jeton-dev/jeton/rpc/nodes"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// maxAsked is how many nodes are asked how the cluster is: one that can decide every key would do.
const maxAsked = 5

// A Sighting is the cluster as one node sees it.
type Sighting struct {
	Address string
	Status  []byte // JSON, as GET /debug/ring has it
	Err     error  // why there is none
}

// Sightings asks several nodes at the same time how the cluster is, those that are good first. An error of a node that answers,
// such as one that is alone and has no cluster, is none of [limit.ErrUnavailable] and of the end of ctx.
func (c *Client) Sightings(ctx context.Context) []Sighting {
	ctx, cancel := context.WithDeadline(ctx, c.known().Deadline(ctx))
	defer cancel()
	asked := c.reachable()
	sightings := make([]Sighting, len(asked))
	var all sync.WaitGroup
	for i, n := range asked {
		all.Go(func() {
			m, err := pb.NewAdminClient(n.Conn()).Status(ctx, &pb.StatusRequest{})
			if err = pb.DecodeError(err); err != nil {
				err = n.Diagnosed(ctx, err)
			}
			sightings[i] = Sighting{Address: n.Address(), Status: m.GetStatus(), Err: err}
		})
	}
	all.Wait()
	return sightings
}

// reachable are the nodes to ask, each once, those that are good first.
func (c *Client) reachable() []*nodes.Node {
	var good, others []*nodes.Node
	for _, s := range c.nodes.Others() {
		switch {
		case slices.Contains(good, s.Node) || slices.Contains(others, s.Node):
		case s.Good():
			good = append(good, s.Node)
		default:
			others = append(others, s.Node)
		}
	}
	all := slices.Concat(good, others)
	return all[:min(len(all), maxAsked)]
}
