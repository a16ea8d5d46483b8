package gateway

import (
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// noRoomError means that a body finds no room in a bodyMemory; its outcome says which bound it would exceed.
type noRoomError struct{ outcome }

// Error implements error.
func (e noRoomError) Error() string {
	if e.outcome == tooManyConcurrent {
		return "the bodies of this address's requests take too much memory at once: wait until some of them are sent"
	}
	return "the bodies of all requests take too much memory at once: retry later"
}

// bodyBounds are the most bytes of memory that bodies may take, in all and of one client.
type bodyBounds struct{ inAll, perClient int64 }

// A bodyMemory counts the bytes of memory that bodies of requests to language models take, so that no number of requests takes more than the
// document says, and no client all of it. The gateway reads such a body whole before its checks. What other requests send passes in pieces,
// and is not counted.
type bodyMemory struct {
	bytes                         prometheus.Gauge
	refusedInAll, refusedOfClient prometheus.Counter

	mu      sync.Mutex
	all     int64
	clients map[netip.Prefix]int64 // of those that have some
}

func newBodyMemory(m *metrics) *bodyMemory {
	return &bodyMemory{
		bytes: m.bodyBytes, refusedInAll: m.bodiesRefused.WithLabelValues("all"), refusedOfClient: m.bodiesRefused.WithLabelValues("client"),
		clients: map[netip.Prefix]int64{},
	}
}

// A bodyRoom is what one body takes of a bodyMemory. A client without an address (on a Unix socket) has no bound of its own.
type bodyRoom struct {
	of     *bodyMemory
	client netip.Prefix
	bounds bodyBounds

	bytes int64 // under the lock of the bodyMemory
}

// room is an empty one for a body of a client.
func (m *bodyMemory) room(b bodyBounds, client netip.Prefix) *bodyRoom {
	return &bodyRoom{of: m, client: client, bounds: b}
}

// take takes so many bytes more, or none. Its errors are noRoomError.
func (r *bodyRoom) take(bytes int64) error {
	m := r.of
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case r.client.IsValid() && m.clients[r.client]+bytes > r.bounds.perClient:
		m.refusedOfClient.Inc()
		return noRoomError{tooManyConcurrent}
	case m.all+bytes > r.bounds.inAll:
		m.refusedInAll.Inc()
		return noRoomError{overloaded}
	}
	r.addLocked(bytes)
	return nil
}

// release gives all back. It may be called again, and by any goroutine; nil has nothing.
func (r *bodyRoom) release() {
	if r == nil {
		return
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.addLocked(-r.bytes)
}

func (r *bodyRoom) addLocked(bytes int64) {
	m := r.of
	r.bytes += bytes
	m.all += bytes
	m.bytes.Set(float64(m.all))
	if !r.client.IsValid() {
		return
	}
	if m.clients[r.client] += bytes; m.clients[r.client] == 0 {
		delete(m.clients, r.client)
	}
}
