package node

import (
	"testing"
	"time"
)

// Power is cut under load, of one node and of all of them at the same instant: nothing that was admitted is forgotten, and
// everything is decided about again.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(60)
	for round := range 2 {
		l.admitted(30)
		pass(r.between(0, 100*time.Millisecond))
		if round%2 == 0 {
			powerCut(nodes...)
			started(nodes...)
		} else {
			one := nodes[r.intN(3)]
			powerCut(one)
			l.admitted(5) // by the others
			started(one)
		}
	}
	l.admitted(10)
	l.held()
	r.untouched()
}
