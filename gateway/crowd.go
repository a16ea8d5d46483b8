package gateway

import (
	"hash/maphash"
	"net/netip"
	"sync"
)

// crowdShards is how many locks a crowd has, so that requests seldom wait for one.
const crowdShards = 64

// A crowd counts the requests that are under way by client, so that no client takes all the room there is. A client is an
// IPv4 address, or the network of IPv6 that tells clients apart. Only clients with a request under way are kept.
type crowd struct {
	seed   maphash.Seed
	shards [crowdShards]struct {
		mu    sync.Mutex
		count map[netip.Prefix]int
	}
}

func newCrowd() *crowd {
	c := &crowd{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].count = map[netip.Prefix]int{}
	}
	return c
}

// enter counts one request more of a client, unless most of them are under way already. Whoever entered leaves. A request
// without an address (of a Unix socket) is not told apart from others, and not counted.
func (c *crowd) enter(client netip.Prefix, most int) bool {
	if !client.IsValid() {
		return true
	}
	s := &c.shards[maphash.Comparable(c.seed, client)%crowdShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[client] >= most {
		return false
	}
	s.count[client]++
	return true
}

// leave counts one request less.
func (c *crowd) leave(client netip.Prefix) {
	if !client.IsValid() {
		return
	}
	s := &c.shards[maphash.Comparable(c.seed, client)%crowdShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[client]--; s.count[client] == 0 {
		delete(s.count, client)
	}
}
