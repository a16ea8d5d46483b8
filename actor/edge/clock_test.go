package edge

import (
	"testing"
	"time"
)

// A clock goes by monotonic time, until the wall clock says that the machine was suspended, or was set.
func TestClockJumps(t *testing.T) {
	const ms = int64(time.Millisecond)
	var c clock
	c.base.Store(1_000_000 * ms)
	for i, step := range []struct {
		wall, passed, now int64
		jumps             uint64
	}{
		{1_000_000, 0, 1_000_000, 0},
		{1_001_000, 1_000, 1_001_000, 0},
		{1_002_050, 2_000, 1_002_000, 0}, // slewed
		{1_001_950, 2_000, 1_002_000, 0},
		{1_063_000, 3_000, 1_063_000, 1}, // suspended for a minute
		{1_064_000, 4_000, 1_064_000, 1},
		{1_004_000, 5_000, 1_004_000, 2}, // set back
	} {
		now, jumps := c.at(step.wall*ms, step.passed*ms)
		if now != step.now*ms || jumps != step.jumps {
			t.Errorf("step %d: %d after %d jumps, want %d after %d", i, now/ms, jumps, step.now, step.jumps)
		}
	}
}
