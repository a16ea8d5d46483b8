package nodes

import "sync"

// talks are the conversations of a node, one over each connection.
type talks struct {
	mu   sync.Mutex
	over []*conversation // each connection; nil where there was none yet
}

// with is the conversation over a connection that has the marks of now. If there is none, or it is over, open opens one; nil if that says no.
func (t *talks) with(conn int, routed bool, open func(*conversation) bool) *conversation {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.over) <= conn {
		t.over = append(t.over, nil)
	}
	c := t.over[conn]
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
	t.over[conn] = c
	return c
}
