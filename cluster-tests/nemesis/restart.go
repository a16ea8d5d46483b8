package nemesis

import (
	"context"
	"time"
)

var (
	kindRestarted = Kind{
		Name: "restarted", Weight: 2, Longest: 3 * time.Second, Recovery: 2 * time.Second,
		Draw: func(d *Drawing) Fault { return restarted{d.one()} },
	}
	kindRolled = Kind{
		Name: "rolling restart", Weight: 1, Recovery: 6 * time.Second,
		Draw: func(d *Drawing) Fault { return rolled{order: d.Perm(d.Nodes)} },
	}
)

// restarted is a node that an operator stops in good order, and starts again.
type restarted struct{ node int }

func (f restarted) String() string { return names(f.node) + " is stopped in good order" }

// Begin stops it.
func (f restarted) Begin(ctx context.Context, s *Stage) error { return s.host(f.node).stop(ctx) }

// End starts it again.
func (f restarted) End(ctx context.Context, s *Stage) error { return s.back(ctx, s.host(f.node)) }

// rolled are all nodes, restarted one after the other, as for a new version.
type rolled struct {
	instant

	order []int
}

func (f rolled) String() string { return "rolling restart: " + names(f.order...) }

// Begin restarts them.
func (f rolled) Begin(ctx context.Context, s *Stage) error {
	for _, n := range f.order {
		if err := s.host(n).stop(ctx); err != nil {
			return err
		}
		if err := s.back(ctx, s.host(n)); err != nil {
			return err
		}
	}
	return nil
}
