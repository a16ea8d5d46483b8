package client

import (
	"context"
	"errors"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Mine says, of a client inside a node, whether this node is a replica of a key's partition.
func (c *Client) Mine(key string) bool {
	for _, s := range c.table.Load().of(ring.Hash(key)) {
		if s.local != nil {
			return true
		}
	}
	return false
}

// Lone says, of a client inside a node, whether that node is all there is of the cluster.
func (c *Client) Lone() bool {
	all := c.table.Load().all
	return len(all) == 1 && all[0].local != nil
}

// first says whether the own node is the one to ask first about a key.
func (c *Client) first(key string) bool {
	n := pick(c.table.Load().of(ring.Hash(key)), nil, false)
	return n != nil && n.local != nil
}

// checkInside is Check inside a node. What the own node decides, as most of what arrives there, has no way to go: this
// client adds nothing to it, and leaves it to the own node to find fault with the request.
func (c *Client) checkInside(ctx context.Context, r limit.Request) (limit.Decision, error) {
	var met error
	if _, timed := ctx.Deadline(); timed && c.first(r.Key) {
		d, err := c.self.local.Check(ctx, r)
		if err == nil || !errors.Is(err, limit.ErrUnavailable) {
			return d, err
		}
		met = err
	}
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	w := c.startCheck(ctx, r.Key)
	w.came(c.self, met)
	return walk(w, func(ctx context.Context, n *node) (limit.Decision, error) {
		if n.local != nil {
			return n.local.Check(ctx, r)
		}
		return n.check(ctx, pb.EncodeRequest(r))
	})
}

// batchInside is CheckBatch inside a node, if the own node is the one to ask about all of it. What it cannot decide is
// left: the items to deliver elsewhere.
func (c *Client) batchInside(ctx context.Context, rs []limit.Request) (results []limit.Result, left []item, ok bool) {
	if _, timed := ctx.Deadline(); !timed {
		return nil, nil, false
	}
	for i := range rs {
		if !c.first(rs[i].Key) {
			return nil, nil, false
		}
	}
	results = c.self.local.CheckBatch(ctx, rs)
	for i := range results {
		if err := results[i].Err; err != nil && errors.Is(err, limit.ErrUnavailable) {
			start := c.startCheck(ctx, rs[i].Key)
			start.came(c.self, err)
			left = append(left, item{start: &start, own: &start, hash: start.hash, request: &rs[i], result: &results[i]})
		}
	}
	return results, left, true
}

// came notes what the call met at n before it set out, if anything.
func (w *way) came(n *node, err error) {
	if err != nil {
		w.tried = []*node{n}
		w.failed(n, err)
	}
}
