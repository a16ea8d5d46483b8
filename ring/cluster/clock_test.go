package cluster

import (
	"context"
	"testing"
	"time"
)

func TestNodesHearTheirClocks(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	jumps := make(chan int64, 10)
	all[2].config.Now = func() int64 { return r.now() - int64(time.Hour) }
	all[2].config.Advance = func(by int64) {
		select {
		case jumps <- by:
		default:
		}
	}
	startAll(all...)
	select {
	case by := <-jumps:
		if off := time.Duration(by) - time.Hour; off.Abs() > time.Second {
			t.Errorf("it was put forward by %s", time.Duration(by))
		}
	case <-time.After(long):
		t.Fatal("the node that is behind was not put forward")
	}
	if now := all[2].cluster.HighestNow(); now == 0 {
		t.Error("no clock is known")
	}
}

// A node that has just started has heard no clock yet, and may need one: its own may be behind.
func TestClocksAreComparedWhenAsked(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	startAll(all...)
	c := all[2].cluster
	c.clocks.Forget()
	all[2].soon("two clocks", func() bool { // on a machine that is busy, answers may be too late to be used
		c.CompareClocks(t.Context())
		_, heard := c.ClockOffset()
		return heard == 2
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.CompareClocks(ctx) // which does not wait
}
