package nemesis

import (
	"context"
	"time"
)

var kindFloored = Kind{
	Name: "floored", Weight: 2, Shortest: time.Second, Longest: 8 * time.Second, Recovery: 4 * time.Second,
	Draw: func(d *Drawing) Fault { return floored{d.one()} },
}

// floored is a node that keeps its registers in memory for a while, and is killed then: it begins again with a floor. In
// memory mode every kill does that.
type floored struct{ node int }

func (f floored) String() string {
	return names(f.node) + " is restarted in memory mode, and killed"
}

// Begin restarts it in memory mode.
func (f floored) Begin(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	if err := h.stop(ctx); err != nil {
		return err
	}
	s.forgetful.Store(h.name, true)
	return s.back(ctx, h)
}

// End kills it, and starts it as the others are.
func (f floored) End(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	s.forgetful.Delete(h.name)
	if err := h.kill(); err != nil {
		return err
	}
	return s.back(ctx, h)
}
