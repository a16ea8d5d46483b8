package fakenodes

import (
	"net"
	"sync"
)

// Ice freezes the connections of a node: it takes what it is sent, and says nothing, as a process that was stopped.
type Ice struct {
	mu     sync.Mutex
	frozen chan struct{} // closed when it thaws; nil when it is not frozen
	opened int           // connections that are open
}

// Freeze freezes all connections.
func (i *Ice) Freeze() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.frozen = make(chan struct{})
}

// Thaw lets them go on.
func (i *Ice) Thaw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.frozen != nil {
		close(i.frozen)
		i.frozen = nil
	}
}

// Connections are how many are open.
func (i *Ice) Connections() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.opened
}

func (i *Ice) wait() {
	i.mu.Lock()
	frozen := i.frozen
	i.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

func (i *Ice) listener(l net.Listener) net.Listener { return iceListener{l, i} }

type iceListener struct {
	net.Listener
	ice *Ice
}

func (l iceListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.ice.mu.Lock()
	l.ice.opened++
	l.ice.mu.Unlock()
	return &iceConn{Conn: conn, ice: l.ice}, nil
}

type iceConn struct {
	net.Conn
	ice    *Ice
	closed sync.Once
}

func (c *iceConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.ice.wait()
	return n, err
}

func (c *iceConn) Write(b []byte) (int, error) {
	c.ice.wait()
	return c.Conn.Write(b)
}

func (c *iceConn) Close() error {
	c.closed.Do(func() {
		c.ice.mu.Lock()
		c.ice.opened--
		c.ice.mu.Unlock()
	})
	return c.Conn.Close()
}
