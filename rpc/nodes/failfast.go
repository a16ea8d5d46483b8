package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// hopeless says whether no node is left to ask, because all nodes that could decide are bad. A suspect one may still answer.
// With every node that is bad runs a recovery, which needs no calls to find out that the node is back.
func (c *call) hopeless() bool {
	seats := c.seats()
	return c.skipsBad && len(seats) > 0 && !slices.ContainsFunc(seats, func(s Seat) bool { return !s.bad() })
}

// unsent counts a check that is refused at once.
func (c *call) unsent() error {
	c.set.counts.unsent.Add(1)
	return &unsentError{c.seats()}
}

// An unsentError is the answer to a check that is not worth sending. What keeps the nodes from being asked is put into words only
// for who wants to read it: it may be given very often.
type unsentError struct{ seats []Seat }

func (e *unsentError) Error() string {
	var whys []string
	for _, s := range e.seats {
		whys = append(whys, s.trouble())
	}
	return fmt.Sprintf("%v: every replica of the key is down, and is being probed: %s", limit.ErrUnavailable, strings.Join(whys, "; "))
}

// Is says that it is [limit.ErrUnavailable].
func (e *unsentError) Is(target error) bool { return target == limit.ErrUnavailable }

// trouble is why the node is not good, with its address.
func (n *Node) trouble() string {
	n.health.mu.Lock()
	why := n.health.why
	n.health.mu.Unlock()
	if why == nil {
		return "jeton at " + n.address
	}
	said := n.Explain(false, why).Error()
	return strings.ReplaceAll(said, limit.ErrUnavailable.Error()+": ", "")
}
