package client

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errUnsent is the answer to a check that is not worth sending. It is made once: it may be given very often.
var errUnsent = fmt.Errorf("%w: every replica of the key is known to be bad, and is being probed", limit.ErrUnavailable)

// hopeless says whether a check of a key with that hash is not to be sent: all nodes that could decide it are bad. A
// suspect one may still answer. With every node that is bad runs a recovery, which needs no calls to find out that the
// node is back.
func (c *Client) hopeless(hash uint64) bool {
	if !c.failFast {
		return false
	}
	seats := c.table.Load().of(hash)
	for _, s := range seats {
		if s.local != nil || s.health.standing() != bad {
			return false
		}
	}
	return len(seats) > 0
}

// unsent counts a check that is refused at once.
func (c *Client) unsent() error {
	c.counts.unsent.Add(1)
	return errUnsent
}
