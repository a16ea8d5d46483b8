package client

import (
	"errors"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A View is what a node knows of the cluster: the table, the nodes and the limits.
type View = pb.View

// A seat is a node's place in an order.
type seat struct {
	*node
	leaving bool // it is about to stop
}

// A table says whom to ask about every key. It never changes.
type table struct {
	known   bool // false: there is none yet, and the servers stand for the replicas
	version uint64
	cluster [16]byte
	places  [][]seat // by partition, in the order in which they are asked
	all     []seat   // every node
}

// of are the nodes to ask about a key with that hash, in order.
func (t *table) of(hash uint64) []seat {
	if len(t.places) == 0 {
		return nil
	}
	return t.places[ring.PartitionOf(hash, len(t.places))]
}

// makeshift is the table before there is one: any server will do, so every one of them is the first for some keys.
func makeshift(servers []*node) *table {
	t := &table{}
	for i := range servers {
		var order []seat
		for j := range servers {
			order = append(order, seat{node: servers[(i+j)%len(servers)]})
		}
		t.places = append(t.places, order)
	}
	return t
}

// newer says whether v takes the place of t. The same version may be told again with other nodes leaving.
func (t *table) newer(v *View) bool {
	switch {
	case v.Table == nil || len(v.Table.Places) == 0:
		return false
	case !t.known || t.cluster != v.Cluster:
		return true
	}
	return v.Version >= t.version
}

// apply puts a table in force. Nodes that are in it no more are given up once their calls have been answered.
func (c *Client) apply(v *View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.table.Load().newer(v) {
		return
	}
	t := &table{known: true, version: v.Version, cluster: v.Cluster, places: make([][]seat, len(v.Table.Places))}
	seats := make(map[ring.NodeID]seat, len(v.Nodes))
	used := make(map[*node]bool, len(v.Nodes))
	for _, member := range v.Nodes {
		n, err := c.nodeLocked(member)
		if err != nil {
			continue // it has no address: nobody can ask it
		}
		s := seat{node: n, leaving: member.Leaving}
		seats[member.ID], used[n] = s, true
		t.all = append(t.all, s)
	}
	for p, place := range v.Table.Places {
		order := make([]seat, 0, len(place.Replicas))
		for _, id := range place.Replicas {
			if s, ok := seats[id]; ok {
				order = append(order, s)
			}
		}
		t.places[p] = order
	}
	c.table.Store(t)
	c.limits.hear(v)
	for _, n := range c.servers {
		used[n] = true
	}
	for address, n := range c.nodes {
		if !used[n] {
			delete(c.nodes, address)
			c.retireLocked(n)
		}
	}
}

// nodeLocked is the node that a member stands for.
func (c *Client) nodeLocked(member pb.Node) (*node, error) {
	switch {
	case c.self != nil && member.ID == c.selfID:
		return c.self, nil
	case member.GRPC == "":
		return nil, errors.New("no address")
	}
	return c.reachLocked(member.GRPC)
}

// everywhere are all nodes that are known: the servers first, which were named by the caller.
func (c *Client) everywhere() []seat {
	t := c.table.Load()
	seats := make([]seat, 0, len(c.servers)+len(t.all))
	for _, n := range c.servers {
		seats = append(seats, seat{node: n})
	}
	for _, s := range t.all {
		if s.local == nil {
			seats = append(seats, s)
		}
	}
	return seats
}

// Version is the version of the table that the client goes by; 0 before it has one.
func (c *Client) Version() uint64 { return c.table.Load().version }
