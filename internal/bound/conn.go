package bound

import (
	"net"
	"time"
)

// unreadWeight is by how much a header may grow in memory when it is parsed, as a factor: its lines may be of four bytes.
const unreadWeight = 16

// Of is the Conn below c, which may wrap it in anything that has a NetConn, as TLS does; nil if there is none.
func Of(c net.Conn) *Conn {
	for c != nil {
		if found, ok := c.(*Conn); ok {
			return found
		}
		below, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = below.NetConn()
	}
	return nil
}

// Prove records what the other end has proved. From then on the connection does not count for its address, and has another
// budget.
func (c *Conn) Prove(proof Proof) {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || proof <= c.proof {
		return
	}
	if c.proof == Stranger {
		l.strangersLocked(l.addresses[c.from], -1)
	}
	c.countLocked(-c.held)
	c.proof = proof
	c.countLocked(c.held)
}

// Proved returns what the other end has proved.
func (c *Conn) Proved() Proof {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proof
}

// Hold counts bytes that the process holds for the connection, until Release or until it is closed. It returns false if the
// connection was closed: it held the most when the budget was used up.
func (c *Conn) Hold(bytes int) bool {
	c.mu.Lock()
	proof := c.proof
	over := c.holdLocked(int64(bytes))
	c.mu.Unlock()
	for over {
		most := c.listener.largest(proof)
		if most == nil {
			break
		}
		most.Cut(tooMuch)
		over = c.listener.Held(proof) > c.listener.cfg.Memory
	}
	return !c.cut.Load()
}

// holdLocked reports whether the budget is used up.
func (c *Conn) holdLocked(bytes int64) (over bool) {
	if c.closed {
		return false
	}
	c.held += bytes
	return c.countLocked(bytes)
}

// countLocked counts bytes into the budget of the connection.
func (c *Conn) countLocked(bytes int64) (over bool) {
	if c.proof == Node {
		return false
	}
	l := c.listener
	return l.held[c.proof].Add(bytes) > l.cfg.Memory && bytes > 0 && l.cfg.Memory > 0
}

// largest is the connection with that proof that holds the most.
func (l *Listener) largest(proof Proof) (most *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var bytes int64
	for c := range l.conns {
		if held := c.Held(); c.Proved() == proof && held > bytes && !c.cut.Load() {
			most, bytes = c, held
		}
	}
	return most
}

// Release undoes Hold for that many bytes.
func (c *Conn) Release(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.held -= int64(bytes)
	c.countLocked(-int64(bytes))
}

// Held is how many bytes are held for the connection.
func (c *Conn) Held() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.listener.cfg.Exchanges && n > 0 {
		c.mu.Lock()
		held := n
		if !c.begun {
			held *= unreadWeight
		}
		c.read += int64(held)
		c.mu.Unlock()
		if !c.Hold(held) {
			return 0, net.ErrClosed
		}
	}
	return n, err
}

// Begin records that the header of an exchange was parsed and takes that many bytes of memory. They count until the first
// write after End, in place of the bytes that were read; further reads count with their own size. It returns what Hold does.
func (c *Conn) Begin(header int) bool {
	c.mu.Lock()
	c.overLocked()
	if !c.closed {
		c.begun, c.header = true, int64(header)
	}
	c.mu.Unlock()
	return c.Hold(header)
}

// End records that the handler of the exchange has returned. The header stays in memory while the server waits for the rest of
// a request that the handler has not read.
func (c *Conn) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = false
}

// overLocked ends the count of an exchange.
func (c *Conn) overLocked() {
	c.read += c.header
	c.header = 0
	c.forgetReadLocked()
}

// forgetReadLocked ends the count of what was read.
func (c *Conn) forgetReadLocked() {
	if !c.closed {
		c.held -= c.read
		c.countLocked(-c.read)
	}
	c.read = 0
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	if within := c.listener.cfg.WriteWithin; within > 0 {
		if err := c.SetWriteDeadline(time.Now().Add(within)); err != nil {
			return 0, err
		}
	}
	if c.listener.cfg.Exchanges {
		c.mu.Lock()
		if c.begun {
			c.forgetReadLocked()
		} else {
			c.overLocked()
		}
		c.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// Cut closes the connection at once, and counts and logs the reason, which is one of this package's.
func (c *Conn) Cut(reason string) {
	if c.cut.Swap(true) {
		return
	}
	c.listener.Refused(reason, c.RemoteAddr(), whys[reason])
	c.forget()
	abort(c.Conn)
}

// Refuse closes the connection as Cut does, but lets the other end read what was written last.
func (c *Conn) Refuse(reason string) {
	if c.cut.Swap(true) {
		return
	}
	c.listener.Refused(reason, c.RemoteAddr(), whys[reason])
	_ = c.Close() // the connection was not used
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// forget removes the connection from all counts.
func (c *Conn) forget() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.countLocked(-c.held)
	c.held = 0
	delete(l.conns, c)
	l.cfg.Metrics.open(l.cfg.Name, -1)
	of := l.addresses[c.from]
	delete(of.conns, c)
	if c.proof == Stranger {
		l.strangersLocked(of, -1)
	}
	l.dropLocked(c.from)
}
