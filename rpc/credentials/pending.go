package credentials

import (
	"net"
	"sync"
	"time"
)

// HandshakeWithin is how long a connection may take until the first request could come.
const HandshakeWithin = 5 * time.Second

// pending are connections without a finished handshake, or in plain text where that is refused. A server that stops does not wait
// for them.
type pending struct {
	mu    sync.Mutex
	conns map[net.Conn]bool // nil when the server has stopped
}

func newPending() *pending { return &pending{conns: map[net.Conn]bool{}} }

func (p *pending) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *pending) remove(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// closeAll closes them, and all that are added later.
func (p *pending) closeAll() {
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for conn := range conns {
		_ = conn.Close() // nothing was said over it
	}
}
