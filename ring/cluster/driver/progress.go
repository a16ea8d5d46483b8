package driver

import (
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/move"
)

// note keeps the phase of a partition.
func (d *Driver) note(p ring.Partition, phase move.Phase) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if phase == move.Settled {
		delete(d.progress, p)
		return
	}
	d.progress[p] = phase
}

// forget ends a leadership.
func (d *Driver) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.progress)
	d.metrics.left.Set(0)
}

// Phases counts the partitions in each phase, but for those with which nothing is to be done: copying, agreeing (copied,
// and waiting for its turn), sealing, installing, committing; and completing, at rest but with a member of which it is not
// known that it has all registers: it was down when they moved, or this node leads since a moment only. Any goroutine may
// ask; only the leader's driver knows anything.
func (d *Driver) Phases() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[string]int{}
	for _, phase := range d.progress {
		counts[phase.String()]++
	}
	return counts
}
