package edge

import (
	"sync/atomic"
	"time"

	machine "github.com/jeton-dev/jeton/actor/clock"
)

// A clock is the edge's: the wall clock, as it goes on by monotonic time. Where the two differ, the machine was suspended, or the wall clock was set: then line
// that was held may have been held too long, and the clock goes by the wall clock from there on. It is put right only when it is read.
type clock struct {
	wall  machine.Wall
	base  atomic.Int64 // what the clock showed at the start, in nanoseconds since the Unix epoch
	jumps atomic.Uint64
}

// mostOff is by how much the clocks of edge and owner may differ: as much as those of two nodes.
const mostOff = int64(250e6)

// mostDrift is by how much the wall clock may differ from monotonic time before it counts as a jump: what clocks are slewed by is less, and what two clocks
// may differ by is more.
const mostDrift = int64(50 * time.Millisecond)

func (c *clock) begin() {
	c.wall.Begin()
	wall, passed := c.wall.Read()
	c.base.Store(wall - passed)
}

// read is the time, and how often the clock has jumped.
func (c *clock) read() (now int64, jumps uint64) {
	return c.at(c.wall.Read())
}

// at is read for a wall clock and the monotonic time since the start.
func (c *clock) at(wall, passed int64) (now int64, jumps uint64) {
	base := c.base.Load()
	now = base + passed
	if drift := wall - now; drift > mostDrift || drift < -mostDrift {
		if c.base.CompareAndSwap(base, wall-passed) {
			c.jumps.Add(1)
		}
		now = c.base.Load() + passed
	}
	return now, c.jumps.Load()
}
