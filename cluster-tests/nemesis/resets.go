package nemesis

import (
	"context"
	"fmt"
	"time"
)

var kindResets = Kind{
	Name: "many resets", Weight: 2, Shortest: time.Second, Longest: 10 * time.Second, Recovery: 5 * time.Second, Operators: true, Harmless: true,
	Draw: func(d *Drawing) Fault { return manyResets{perSecond: 20 + d.IntN(80)} },
}

// manyResets are callers who fill buckets up far more often than they spend them.
type manyResets struct{ perSecond int }

func (f manyResets) String() string {
	return fmt.Sprintf("%d buckets are reset in a second", f.perSecond)
}

// Begin starts them.
func (f manyResets) Begin(_ context.Context, s *Stage) error {
	s.traffic.resets.Store(int64(f.perSecond))
	return nil
}

// End ends them.
func (f manyResets) End(_ context.Context, s *Stage) error {
	s.traffic.resets.Store(usualResets)
	return nil
}
