package nemesis

import (
	"context"
	"testing"
	"testing/synctest"
)

// A drained is a program that serves no more, of a node that is taken out of the cluster while it is asked.
type drained struct {
	program

	asked int
	last  func()
}

func (d *drained) Serves(context.Context) bool {
	if d.asked++; d.asked == 3 {
		d.last()
	}
	return false
}

func (d *drained) Log() string { return "stopped" }

// What waits for a node to serve goes on when another fault has taken it out of the cluster.
func TestServingOfANodeThatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drained{}
		h := &host{name: "node-4", program: d, wanted: true}
		d.last = h.retire
		if err := h.serving(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
