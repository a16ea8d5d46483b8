package gateway

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
)

// clientShards is how many locks the counts of clients have, so that requests rarely wait for one.
const clientShards = 64

// inFlight counts concurrent requests, in all and by client, so that no client takes all the capacity. A client is an IPv4
// address, or the IPv6 network that tells clients apart. Only clients with a request under way are kept.
type inFlight struct {
	all    atomic.Int64
	held   atomic.Int64 // that may be held until there are tokens
	seed   maphash.Seed
	shards [clientShards]struct {
		mu    sync.Mutex
		count map[netip.Prefix]int
	}
}

func newInFlight() *inFlight {
	f := &inFlight{seed: maphash.MakeSeed()}
	for i := range f.shards {
		f.shards[i].count = map[netip.Prefix]int{}
	}
	return f
}

// A slot is that of one request.
type slot struct {
	of     *inFlight
	client netip.Prefix
}

// take counts a request, unless as many as the document allows are under way. When the outcome is admitted, the caller releases the
// slot; any other outcome is that of the request.
func (f *inFlight) take(client netip.Prefix, maxInAll int64, maxPerClient int) (slot, outcome) {
	if f.all.Add(1) > maxInAll {
		f.all.Add(-1)
		return slot{}, overloaded
	}
	if !f.takeClient(client, maxPerClient) {
		f.all.Add(-1)
		return slot{}, tooManyConcurrent
	}
	return slot{f, client}, admitted
}

// release counts one request less.
func (s slot) release() {
	s.of.releaseClient(s.client)
	s.of.all.Add(-1)
}

// hold counts a request that may be held, unless half of those that may be under way are: a held request costs its client nothing, and must
// not keep out those that pass at once.
func (f *inFlight) hold(maxInAll int64) bool {
	if f.held.Add(1) > max(maxInAll/2, 1) {
		f.held.Add(-1)
		return false
	}
	return true
}

// takeClient counts one more request of a client. A client without an address (on a Unix socket) is not counted.
func (f *inFlight) takeClient(client netip.Prefix, maxPerClient int) bool {
	if !client.IsValid() {
		return true
	}
	s := &f.shards[maphash.Comparable(f.seed, client)%clientShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[client] >= maxPerClient {
		return false
	}
	s.count[client]++
	return true
}

func (f *inFlight) releaseClient(client netip.Prefix) {
	if !client.IsValid() {
		return
	}
	s := &f.shards[maphash.Comparable(f.seed, client)%clientShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[client]--; s.count[client] == 0 {
		delete(s.count, client)
	}
}
