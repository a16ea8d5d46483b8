package consensus

import (
	"maps"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// marks are the highest marks of nodes in anything that is durable here. They only rise: a mark whose entry raft has
// taken back was on its node's disk before it was proposed, so it is true all the same.
type marks struct {
	mu      sync.Mutex
	highest map[ring.NodeID]agreed.Mark
}

func newMarks() *marks { return &marks{highest: map[ring.NodeID]agreed.Mark{}} }

// of is the highest mark of a node.
func (m *marks) of(id ring.NodeID) (agreed.Mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	highest, ok := m.highest[id]
	return highest, ok
}

// all is a copy of them.
func (m *marks) all() map[ring.NodeID]agreed.Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.highest)
}

// note takes a mark that is durable.
func (m *marks) note(id ring.NodeID, mark agreed.Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if highest, ok := m.highest[id]; !ok || highest.Compare(mark) < 0 {
		m.highest[id] = mark
	}
}

// noteState takes the marks of a durable snapshot.
func (m *marks) noteState(s *agreed.State) {
	for id, n := range s.Nodes {
		m.note(id, n.Mark)
	}
}

// noteEntry takes the marks of a durable entry of the log.
func (m *marks) noteEntry(entry *raft.Log) {
	if entry.Type != raft.LogCommand {
		return
	}
	c, err := agreed.DecodeCommand(entry.Data)
	if err != nil {
		return // applying it reports that
	}
	c.EachMark(m.note)
}
