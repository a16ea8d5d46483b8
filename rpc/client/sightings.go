package client

import (
	"context"
	"slices"
	"sync"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// mostAsked is how many nodes are asked how the cluster is: one that can decide every key would do.
const mostAsked = 5

// A Sighting is the cluster as one node sees it.
type Sighting struct {
	Address string
	Status  []byte // JSON, as GET /debug/ring has it
	Err     error  // why there is none
}

// Sightings asks several nodes at the same time how the cluster is, those that are good first. An error of a node that answers,
// such as one that is alone and has no cluster, is none of [limit.ErrUnavailable] and of the end of ctx.
func (c *Client) Sightings(ctx context.Context) []Sighting {
	c.awake.Do(c.keepTable)
	ctx, cancel := context.WithDeadline(ctx, c.deadline(ctx))
	defer cancel()
	nodes := c.reachable()
	sightings := make([]Sighting, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			m, err := pb.NewAdminClient(n.conn()).Status(ctx, &pb.StatusRequest{})
			if err = pb.DecodeError(err); err != nil {
				n.suspect(ctx, err)
				err = n.explain(ctx.Err() != nil, err)
			}
			sightings[i] = Sighting{Address: n.address, Status: m.GetStatus(), Err: err}
		})
	}
	all.Wait()
	return sightings
}

// reachable are the nodes to ask, each once, those that are good first.
func (c *Client) reachable() []*node {
	var good, others []*node
	for _, s := range c.everywhere() {
		switch {
		case slices.Contains(good, s.node) || slices.Contains(others, s.node):
		case s.good():
			good = append(good, s.node)
		default:
			others = append(others, s.node)
		}
	}
	all := slices.Concat(good, others)
	return all[:min(len(all), mostAsked)]
}
