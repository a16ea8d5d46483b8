package node

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// errClock refuses all decisions of a node whose clock is off.
var errClock = notServingError{func() string {
	return "this node's clock differs too much from the other nodes': correct the machine's clock, then restart the node"
}}

// A notServingError is a [limit.ErrUnavailable] with words of its own, which are made only when they are read: it may be given very
// often.
type notServingError struct{ why func() string }

func (e notServingError) Error() string        { return e.why() }
func (e notServingError) Is(target error) bool { return target == limit.ErrUnavailable }

// serving says why the node decides nothing, and nil if it does.
func (m *membership) serving() error {
	switch {
	case m.joinedAt.Load() == 0:
		return notServingError{m.joining}
	case !m.cluster.ClockAgrees():
		return errClock
	}
	return nil
}

// joining is why the node has not joined yet.
func (m *membership) joining() string {
	const said = "the node has not joined its cluster yet"
	if waits := m.cluster.Waits(); waits != "" {
		return said + ": " + waits
	}
	return said
}

// refuses is serving in words that another node can pass on; empty for nil.
func (m *membership) refuses() string {
	if err := m.serving(); err != nil {
		return err.Error()
	}
	return ""
}

// reachedWithin is how long a node that has joined waits for its peers to reach it before it says that it is ready.
const reachedWithin = int64(5 * time.Second)

// stallsAfter is how long the disk may keep reservations waiting before the node counts as one that takes none.
const stallsAfter = time.Second

// stalled says that the disk hangs; empty if it does not.
func (m *membership) stalled() string {
	if m.joinedAt.Load() == 0 || m.node.store.Stalled() < stallsAfter {
		return ""
	}
	return "its disk has not finished a write for more than a second"
}

// ready says why callers should not come to this node, and nil if they may; and what is wrong with some keys, if the others
// can be decided.
func (m *membership) ready() (degraded string, err error) {
	if err := m.serving(); err != nil {
		return "", err
	}
	if err := m.checkReached(); err != nil {
		return "", err
	}
	d := m.cluster.Deciding()
	if d.Verdict == ring.DecidesNone {
		return "", errors.New(d.String())
	}
	return d.Degraded(), nil
}

// checkReached says which node has not reached this one yet, soon after it has joined.
func (m *membership) checkReached() error {
	if m.node.clock.Now() > m.joinedAt.Load()+reachedWithin {
		return nil
	}
	connected := m.node.grpc.PeersConnected()
	for id, n := range m.cluster.State().Nodes {
		if id != m.id && !n.Leaving && m.peers.Connected(id.At(n.GRPC)) && !slices.Contains(connected, id) {
			return fmt.Errorf("node %s has not connected to this node yet", n.Name)
		}
	}
	return nil
}
