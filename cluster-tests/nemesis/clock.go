package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring/cluster"
)

var (
	kindAhead = Kind{
		Name: "clock ahead", Weight: 1, Shortest: time.Second, Longest: 10 * time.Second, Recovery: 10 * time.Second,
		Draw: func(d *Drawing) Fault { return wrongClock{node: d.one(), offset: d.scale(10 * time.Second)} },
	}
	kindBehind = Kind{
		Name: "clock behind", Weight: 1, Shortest: time.Second, Longest: 10 * time.Second, Recovery: time.Second,
		Draw: func(d *Drawing) Fault { return wrongClock{node: d.one(), offset: -d.scale(10 * time.Second)} },
	}
	kindDrifting = Kind{
		Name: "clock drifting", Weight: 1, Shortest: 10 * time.Second, Longest: 40 * time.Second, Recovery: time.Second,
		Draw: func(d *Drawing) Fault {
			return wrongClock{node: d.one(), drift: []int{10_000, -10_000}[d.IntN(2)]}
		},
	}
)

// heldFor is how long a node may take to notice that its clock is wrong: nodes compare clocks once a second, and wait a second
// for the answers. Until then it may spend what it has reserved: see the assumption on clocks in docs/protocol.md.
const heldFor = 2 * time.Second

// wrongClock is a node whose clock jumps, or is too fast or too slow.
type wrongClock struct {
	node   int
	offset time.Duration
	drift  int // microseconds a second
}

func (f wrongClock) String() string {
	if f.drift != 0 {
		return fmt.Sprintf("the clock of %s drifts by %+d %%", names(f.node), f.drift/10_000)
	}
	return fmt.Sprintf("the clock of %s jumps by %+.1f s", names(f.node), f.offset.Seconds())
}

// Begin makes the clock wrong.
func (f wrongClock) Begin(_ context.Context, s *Stage) error {
	return s.host(f.node).setClock(f.offset, f.drift)
}

// restarts says that only a new process will have the right clock: one that was behind has moved forward to where the clocks
// of the others are, and would be ahead of them from now on.
func (f wrongClock) restarts() bool { return f.offset < 0 || f.drift < 0 }

// inTime is how near the clocks of nodes have to be again, in milliseconds.
const inTime = 100

// End makes the clock right. One that was ahead stands still until then; one that was behind needs a restart.
func (f wrongClock) End(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	if f.restarts() {
		if err := h.kill(); err != nil {
			return err
		}
	}
	if err := h.rightClock(); err != nil {
		return err
	}
	if err := s.back(ctx, h); err != nil {
		return err
	}
	return s.until(ctx, "the clock of "+h.name+" is right again", func(ctx context.Context) error {
		for _, other := range s.members() {
			if other == h {
				continue
			}
			st, err := s.ask(ctx, other)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(st.Nodes, func(n cluster.NodeStatus) bool { return n.Name == h.name })
			if i < 0 || st.Nodes[i].ClockAheadMS == nil {
				return errors.New(other.name + " has not heard it")
			}
			if ahead := *st.Nodes[i].ClockAheadMS; ahead > inTime || ahead < -inTime {
				return fmt.Errorf("it is %.0f ms ahead, says %s", ahead, other.name)
			}
			return nil
		}
		return nil
	})
}
