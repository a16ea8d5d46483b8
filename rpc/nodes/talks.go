package nodes

import "sync"

// talks are the conversations with a node that take questions, one over each connection.
type talks struct {
	mu     sync.Mutex
	byConn []*conversation // nil where there was none yet
}

// with is the conversation over a connection that has the marks of now. If there is none, or it is over, open opens one; nil if that
// says no. One that has other marks takes no more questions, and ends when it has its answers.
func (t *talks) with(conn int, routed bool, open func(*conversation) bool) *conversation {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.byConn) <= conn {
		t.byConn = append(t.byConn, nil)
	}
	c := t.byConn[conn]
	if c != nil && c.routed == routed && !c.ends() {
		return c
	}
	if c != nil {
		c.close()
	}
	c = newConversation(routed)
	if !open(c) {
		return nil
	}
	t.byConn[conn] = c
	return c
}
