package gossip

import (
	"cmp"
	"maps"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// A Directory knows where nodes are: what gossip says, which is newest, or else what was agreed, or what this node's disk
// tells. The fields are required; any goroutine may call the functions.
type Directory struct {
	ID     ring.NodeID // this node
	Gossip *Gossip
	Book   *AddressBook
	// State is what is agreed, and Decided are the members of a cluster that this node has decided to found.
	State   func() *agreed.State
	Decided func() []agreed.Node
}

// Address is a node's gRPC address: what gossip says, which is newer, or else what was agreed, or decided.
func (d *Directory) Address(id ring.NodeID) string {
	if p, known := d.Gossip.Find(id); known && p.GRPC != "" {
		return p.GRPC
	}
	return d.Contacts()[id].GRPC
}

// AddressWithID is a node's gRPC address with its id, so that no other one is taken for it: an address in gossip or on the
// disk may have passed to another node. It is empty if no address is known.
func (d *Directory) AddressWithID(id ring.NodeID) string {
	if address := d.Address(id); address != "" {
		return id.At(address)
	}
	return ""
}

// Contacts are where the members are as far as the disk tells: what this node has decided on, and, newer, what was agreed.
func (d *Directory) Contacts() map[ring.NodeID]Contact {
	at := map[ring.NodeID]Contact{}
	for _, n := range d.Decided() {
		at[n.ID] = Contact{GRPC: n.GRPC, Gossip: n.Gossip}
	}
	maps.Copy(at, d.Book.Look())
	for id, n := range d.State().Nodes {
		at[id] = Contact{GRPC: n.GRPC, Gossip: n.Gossip}
	}
	return at
}

// GossipAddresses are where nodes may be found: at the addresses of join, and where the members were last.
func (d *Directory) GossipAddresses(join []string) []string {
	all := append([]string(nil), join...)
	for id, at := range d.Contacts() {
		if id != d.ID && at.Gossip != "" {
			all = append(all, at.Gossip)
		}
	}
	return all
}

// Living are the gRPC addresses of the other nodes of the cluster that are alive.
func (d *Directory) Living() map[ring.NodeID]string {
	at := map[ring.NodeID]string{}
	nodes := d.State().Nodes
	for id, p := range d.Gossip.All() {
		if _, member := nodes[id]; p.Alive && (member || len(nodes) == 0 && p.Cluster != "") {
			at[id] = p.GRPC
		}
	}
	return at
}

// InClusters are the gRPC addresses of the other nodes that are alive and in a cluster, in any order.
func (d *Directory) InClusters() (addresses []string) {
	for _, p := range d.Gossip.All() {
		if p.Alive && p.Cluster != "" {
			addresses = append(addresses, p.GRPC)
		}
	}
	return addresses
}

// AddressOfNode is where a member is, by gossip, or else by what is supposed.
func (d *Directory) AddressOfNode(n agreed.Node) string { return cmp.Or(d.Address(n.ID), n.GRPC) }

// OtherMembers are the gRPC addresses of the other members of a state.
func (d *Directory) OtherMembers(s *agreed.State) map[ring.NodeID]string {
	at := map[ring.NodeID]string{}
	for id := range s.Nodes {
		if id != d.ID {
			at[id] = d.Address(id)
		}
	}
	return at
}
