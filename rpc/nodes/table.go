package nodes

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A Seat is a node's place in an order.
type Seat struct {
	*Node
	Leaving bool // it is about to stop
}

// A table says which nodes to ask about every key. It is immutable.
type table struct {
	known   bool // false: there is none yet, and the servers stand for the replicas
	version uint64
	cluster [16]byte
	places  [][]Seat // by partition, in the order in which they are asked
	all     []Seat   // every node
}

// of are the nodes to ask about a key with that hash, in order.
func (t *table) of(hash uint64) []Seat {
	if len(t.places) == 0 {
		return nil
	}
	return t.places[ring.PartitionOf(hash, len(t.places))]
}

// makeshift is the table before there is one: any server will do, so every one of them is the first for some keys.
func makeshift(servers []*Node) *table {
	t := &table{}
	for i := range servers {
		var order []Seat
		for j := range servers {
			order = append(order, Seat{Node: servers[(i+j)%len(servers)]})
		}
		t.places = append(t.places, order)
	}
	return t
}

// newer says whether v takes the place of t. The same version may be told again with other nodes leaving.
func (t *table) newer(v *pb.View) bool {
	switch {
	case v.Table == nil || len(v.Table.Places) == 0:
		return false
	case !t.known || t.cluster != v.Cluster:
		return true
	}
	return v.Version >= t.version
}

// Version is the version of the table in force; 0 before there is one.
func (s *Set) Version() uint64 { return s.table.Load().version }

// First is the address of the node that decides about key while all are well: the first one of its replicas that is not leaving. It is
// empty for the own node, and where there is none.
func (s *Set) First(key string) string {
	seats := s.table.Load().of(ring.Hash(key))
	if len(seats) == 0 {
		return ""
	}
	stays := slices.IndexFunc(seats, func(s Seat) bool { return !s.Leaving })
	if first := seats[max(stays, 0)]; first.local == nil {
		return first.address
	}
	return ""
}

// Members are the nodes of the table in force, the own one too; none before there is a table.
func (s *Set) Members() []Seat { return s.table.Load().all }

// Others are all nodes that are known but the own one: the servers first. A node may be there twice.
func (s *Set) Others() []Seat {
	t := s.table.Load()
	seats := make([]Seat, 0, len(s.servers)+len(t.all))
	for _, n := range s.servers {
		seats = append(seats, Seat{Node: n})
	}
	for _, seat := range t.all {
		if seat.local == nil {
			seats = append(seats, seat)
		}
	}
	return seats
}

// A Part is what the own node has to do with a key.
type Part int

// Parts of the own node.
const (
	None  Part = iota // it is no replica of the key's partition
	Later             // it is one, and another one is asked first
	First             // it is asked first
	Alone             // there is no other node
)

// Part is what the own node has to do with a key, by the table and by how the others do.
func (s *Set) Part(key string) Part {
	t := s.table.Load()
	if len(t.all) == 1 && t.all[0].local != nil {
		return Alone
	}
	seats := t.of(ring.Hash(key))
	switch {
	case !slices.ContainsFunc(seats, func(seat Seat) bool { return seat.local != nil }):
		return None
	case pick(seats, nil, false).local != nil:
		return First
	}
	return Later
}

// pick is the first of seats to be asked that has not been tried: good ones first, then those that leave, then bad ones, unless
// these are skipped.
func pick(seats []Seat, tried []*Node, skipsBad bool) *Node {
	var best *Node
	least := 3
	for _, s := range seats {
		rank := 0
		switch {
		case slices.Contains(tried, s.Node) || skipsBad && s.bad():
			continue
		case !s.Good():
			rank = 2
		case s.Leaving:
			rank = 1
		}
		if rank == 0 {
			return s.Node
		}
		if rank < least {
			best, least = s.Node, rank
		}
	}
	return best
}
