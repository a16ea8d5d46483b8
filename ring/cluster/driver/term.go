package driver

import (
	"context"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/move"
)

// A result hands the outcome of a call or proposal to the driver's goroutine.
type result func(*term)

// A term is what a driver knows during one leadership. Only the driver's goroutine uses it, except for results and work.
type term struct {
	driver  *Driver
	started time.Time
	results chan result
	work    sync.WaitGroup

	state   *agreed.State // as followed
	moves   []*move.Move
	left    int   // places that are moving
	arrived int   // moves that have finished since none was left
	wake    int64 // when the first timer of a move expires; 0 for none

	lanes  lanes
	queued bool // there are jobs that dispatch has not seen

	alive     map[ring.NodeID]bool
	checkedAt int64 // when checkNodes ran last; 0 for never

	sealed map[ring.Partition]*sealed
	proposals
	planning
}

// A sealed partition is one that takes no reservations, or will soon take none.
type sealed struct {
	since  int64
	warned bool
	why    error // of the last call about it that failed
}

// planning is the state of the next plan of the table.
type planning struct {
	members string          // the members as last seen
	planAt  int64           // when to plan the table for them; 0 once planned
	targets []agreed.Change // of the plan, not agreed yet
}

// now is a monotonic time, never 0.
func (t *term) now() int64 { return 1 + int64(time.Since(t.started)) }

// dead says whether a node has been dead for at least so long.
func (t *term) dead(id ring.NodeID, atLeast time.Duration) bool {
	since, is := t.driver.config.DeadSince(id)
	return is && time.Since(since) >= atLeast
}

// step passes an event to one move, and queues the actions that it returns.
func (t *term) step(p ring.Partition, e move.Event) {
	m, now := t.moves[p], t.now()
	for _, a := range m.Step(e, now) {
		t.enqueue(job{partition: p, action: a})
	}
	if u := m.Until(); u > 0 && (t.wake == 0 || u < t.wake) {
		t.wake = u
	}
	phase := m.Phase()
	switch moving := phase >= move.Sealing; {
	case !moving:
		delete(t.sealed, p)
	case t.sealed[p] == nil:
		t.sealed[p] = &sealed{since: now}
	}
	t.driver.note(p, phase)
}

// report hands a result to the driver's goroutine, unless it has ended.
func (t *term) report(ctx context.Context, r result) {
	select {
	case t.results <- r:
	case <-ctx.Done():
	}
}

// failed records why a call failed.
func (t *term) failed(node ring.NodeID, j job, name string, err error) {
	if s := t.sealed[j.partition]; s != nil {
		s.why = err
	}
	t.driver.config.Logger.Debug("a step of a move failed and will be retried",
		"partition", j.partition, "call", name, "node", t.state.Nodes[node].Name, "error", err)
}
