package key

import (
	"io"
	"net"
	"sync"
)

// conns are the open connections that stand on secrets.
type conns struct {
	mu   sync.Mutex
	open map[*heldConn]struct{}
}

// A heldConn is a connection that stands on a secret.
type heldConn struct {
	net.Conn

	in     *conns
	raw    io.Closer // what the connection stands on
	shown  *one      // to the other end
	theirs *one      // what the other end has shown
}

// Close implements net.Conn.
func (h *heldConn) Close() error {
	h.in.remove(h)
	return h.Conn.Close()
}

// outdated says whether the connection is to be closed where these secrets are in force.
func (h *heldConn) outdated(all []*one) bool {
	return h.theirs == nil || h.theirs.in(all) < 0 || h.shown != all[0]
}

// cut closes what the connection stands on: it waits for nothing.
func (h *heldConn) cut() {
	h.in.remove(h)
	_ = h.raw.Close() // both ends find out
}

func (c *conns) add(h *heldConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*heldConn]struct{}{}
	}
	c.open[h] = struct{}{}
}

func (c *conns) remove(h *heldConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, h)
}

// cutOutdated closes the connections that stand on other secrets than those in force.
func (c *conns) cutOutdated(all []*one) {
	c.mu.Lock()
	var outdated []*heldConn
	for h := range c.open {
		if h.outdated(all) {
			outdated = append(outdated, h)
		}
	}
	c.mu.Unlock()
	for _, h := range outdated {
		h.cut()
	}
}

// count is how many are open whose other end has shown a secret.
func (c *conns) count(o *one) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for h := range c.open {
		if h.theirs == o {
			n++
		}
	}
	return n
}
