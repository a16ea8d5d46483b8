package cluster

import (
	"maps"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
)

// addressOf is a node's gRPC address: what gossip says, which is newer, or else what was agreed, or decided.
func (c *Cluster) addressOf(id ring.NodeID) string {
	if p, known := c.gossip.Find(id); known && p.GRPC != "" {
		return p.GRPC
	}
	return c.contacts()[id].GRPC
}

// whereabouts is a node's gRPC address with its id, so that no other one is taken for it: an address in gossip or on the
// disk may have passed to another node. It is empty if no address is known.
func (c *Cluster) whereabouts(id ring.NodeID) string {
	if address := c.addressOf(id); address != "" {
		return id.At(address)
	}
	return ""
}

// contacts are where the members are as far as the disk tells: what this node has decided on, and, newer, what was agreed.
func (c *Cluster) contacts() map[ring.NodeID]gossip.Contact {
	at := map[ring.NodeID]gossip.Contact{}
	if f := c.record.look(); f.Decided != nil {
		for _, n := range f.Decided.Nodes {
			at[n.ID] = gossip.Contact{GRPC: n.GRPC, Gossip: n.Gossip}
		}
	}
	maps.Copy(at, c.book.Look())
	for id, n := range c.agreement.State().Nodes {
		at[id] = gossip.Contact{GRPC: n.GRPC, Gossip: n.Gossip}
	}
	return at
}

// gossipAddresses are where nodes may be found.
func (c *Cluster) gossipAddresses() []string {
	all := append([]string(nil), c.config.Join...)
	for id, at := range c.contacts() {
		if id != c.config.ID && at.Gossip != "" {
			all = append(all, at.Gossip)
		}
	}
	return all
}

// livingAddresses are the gRPC addresses of the other nodes of the cluster that are alive.
func (c *Cluster) livingAddresses() map[ring.NodeID]string {
	at := map[ring.NodeID]string{}
	nodes := c.agreement.State().Nodes
	for id, p := range c.gossip.All() {
		if _, member := nodes[id]; p.Alive && (member || len(nodes) == 0 && p.Cluster != "") {
			at[id] = p.GRPC
		}
	}
	return at
}

// clusterAddresses are the gRPC addresses of the other nodes that are alive and in a cluster, in any order.
func (c *Cluster) clusterAddresses() (addresses []string) {
	for _, p := range c.gossip.All() {
		if p.Alive && p.Cluster != "" {
			addresses = append(addresses, p.GRPC)
		}
	}
	return addresses
}

// otherMembers are the gRPC addresses of the other members.
func (c *Cluster) otherMembers() map[ring.NodeID]string {
	at := map[ring.NodeID]string{}
	for id := range c.State().Nodes {
		if id != c.config.ID {
			at[id] = c.addressOf(id)
		}
	}
	return at
}
