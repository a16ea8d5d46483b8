package agreed

import (
	"fmt"
	"maps"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/level"
)

// A Raise raises the level of the cluster by one. It is proposed once every member has said that it knows that level, and is refused
// (ErrStale) if another process runs as one of them meanwhile, or there are other members: that one may be of an older release.
type Raise struct {
	To int `json:"to"`
	// Processes are those that have said so, by their nodes.
	Processes map[ring.NodeID]Unique `json:"processes"`
}

// Apply implements applier.
func (c *Raise) Apply(s *State) (*State, error) {
	switch now := s.AgreedLevel(); {
	case c.To == now:
		return s, nil // perhaps by this very command, whose answer was lost
	case c.To != now+1:
		return nil, fmt.Errorf("%w: it is %d, which is raised by one, not to %d", ErrStale, now, c.To)
	}
	running := map[ring.NodeID]Unique{}
	for id, n := range s.Nodes {
		running[id] = n.Process
	}
	if !maps.Equal(running, c.Processes) {
		return nil, fmt.Errorf("%w: a node was started, let in or removed while all were asked which levels they know: ask again", ErrStale)
	}
	next := s.draft()
	next.Level = c.To
	return next, nil
}

// checkLevel refuses a command that lets a process in by another level than that of a state.
func (c *Command) checkLevel(s *State) error {
	lets := c.Join != nil || c.Replace != nil || c.Mark != nil
	if by := max(c.Level, level.First); lets && by != s.AgreedLevel() {
		return fmt.Errorf("%w: the node was let in by level %d, and the cluster is at level %d", ErrStale, by, s.AgreedLevel())
	}
	return nil
}

// Allowed says why a state does not allow a command yet (ErrLevel): a member may not know what is in it. A Raise looks after itself, and what
// founds a cluster has all its nodes asked.
func (c *Command) Allowed(s *State) error {
	if c.Raise != nil || !s.Founded() {
		return nil
	}
	if needed := level.Needed(c); needed > s.AgreedLevel() {
		return fmt.Errorf("%w: it is %d, and this takes %d: jeton cluster upgrade raises it", ErrLevel, s.AgreedLevel(), needed)
	}
	return nil
}
