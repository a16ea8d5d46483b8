package nodes

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

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
	if n.local != nil { // the own node, of a table that has come meanwhile
		return "node at " + n.address
	}
	n.health.mu.Lock()
	why := n.health.why
	n.health.mu.Unlock()
	if why == nil {
		return "node at " + n.address
	}
	said := n.Explain(false, why).Error()
	return strings.ReplaceAll(said, limit.ErrUnavailable.Error()+": ", "")
}
