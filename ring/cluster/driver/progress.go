package driver

import (
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/move"
)

// note records the phase of a partition.
func (d *Driver) note(p ring.Partition, phase move.Phase) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if phase == move.Settled {
		delete(d.progress, p)
		return
	}
	d.progress[p] = phase
}

// forget drops the progress when a leadership ends.
func (d *Driver) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.progress)
	d.metrics.left.Set(0)
}

// Phases counts the partitions in each phase, except for those that need nothing: copying, agreeing (copied,
// and waiting for its turn), sealing, installing, committing; and completing, at rest but with a member of which it is not
// known that it has all registers: it was down when they moved, or this node has only just become the leader. Any goroutine
// may call it; it is empty except on the leader.
func (d *Driver) Phases() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[string]int{}
	for _, phase := range d.progress {
		counts[phase.String()]++
	}
	return counts
}
