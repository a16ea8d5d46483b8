package nemesis

import (
	"context"
	"time"
)

var (
	kindRestarted = Kind{
		Name: "restarted", Weight: 2, Longest: 3 * time.Second, Recovery: 2 * time.Second,
		Draw: func(d *Drawing) Fault { return restarted{victims{numbers: []int{d.one()}}} },
	}
	kindRolled = Kind{
		Name: "rolling restart", Weight: 1, Recovery: 6 * time.Second,
		Draw: func(d *Drawing) Fault { return rolled{order: d.Perm(d.Nodes)} },
	}
)

// restarted is a node or a gateway that an operator stops in good order, and starts again.
type restarted struct{ victims }

func (f restarted) String() string { return f.who() + " " + f.be() + " stopped in good order" }

// Begin stops it.
func (f restarted) Begin(ctx context.Context, s *Stage) error {
	return f.each(s, func(h *host) error { return h.stop(ctx) })
}

// End starts it again.
func (f restarted) End(ctx context.Context, s *Stage) error { return s.back(ctx, f.hosts(s)...) }

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
