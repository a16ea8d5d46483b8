package nemesis

import (
	"context"
	"time"
)

var (
	kindFrozen = Kind{
		Name: "frozen", Weight: 3, Shortest: 100 * time.Millisecond, Longest: 12 * time.Second, Recovery: 500 * time.Millisecond,
		Draw: func(d *Drawing) Fault { return frozen{victims{numbers: []int{d.one()}}} },
	}
	kindStuttering = Kind{
		Name: "stuttering", Weight: 1, Recovery: 4 * time.Second,
		Draw: func(d *Drawing) Fault {
			f := stuttering{node: d.one()}
			for range 6 {
				f.steps = append(f.steps, d.between(20*time.Millisecond, 700*time.Millisecond))
			}
			return f
		},
	}
	kindAllFrozen = Kind{
		Name: "all frozen", Weight: 1, Shortest: 100 * time.Millisecond, Longest: 4 * time.Second, Recovery: time.Second, Majority: true,
		Draw: func(*Drawing) Fault { return frozen{victims{all: true}} },
	}
)

// frozen are nodes or gateways that are stopped as SIGSTOP does: their connections stay open, and they answer nothing. Then they go
// on with what they hold, and with clocks that have moved.
type frozen struct{ victims }

func (f frozen) String() string { return f.who() + " " + f.be() + " frozen" }

// Begin freezes them.
func (f frozen) Begin(_ context.Context, s *Stage) error { return f.each(s, (*host).freeze) }

// End lets them go on.
func (f frozen) End(ctx context.Context, s *Stage) error {
	if err := f.each(s, (*host).thaw); err != nil {
		return err
	}
	return s.ready(ctx, f.hosts(s)...)
}

// stuttering is a node that is frozen and let go on again and again, as on a machine that is starved.
type stuttering struct {
	instant

	node  int
	steps []time.Duration // frozen, running, frozen…
}

func (f stuttering) String() string { return names(f.node) + " is frozen again and again" }

// Begin plays the steps.
func (f stuttering) Begin(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	for i, step := range f.steps {
		var err error
		if i%2 == 0 {
			err = h.freeze()
		} else {
			err = h.thaw()
		}
		if err != nil {
			return err
		}
		if err := pause(ctx, step); err != nil {
			return err
		}
	}
	if err := h.thaw(); err != nil {
		return err
	}
	return s.ready(ctx, h)
}
