package driver

import (
	"context"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/move"
)

const (
	// checkInterval is how often the driver checks which nodes are alive.
	checkInterval = 500 * time.Millisecond
	// warnAfter is how long a partition may be sealed before the log says so.
	warnAfter = 5 * time.Second
)

// Run drives until ctx ends, which is when this node does not lead any more. It must not begin before the state shows all
// that was agreed earlier. All that it has started has ended when it returns. It may be called again, after that.
func (d *Driver) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	t := &term{
		driver:  d,
		started: time.Now(),
		alive:   map[ring.NodeID]bool{},
		sealed:  map[ring.Partition]*sealed{},
		results: make(chan result),
		lanes:   newLanes(),
	}
	defer func() {
		cancel()
		t.work.Wait()
		d.forget()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := d.config.Changed()
		t.follow(d.config.State())
		t.checkNodes()
		t.tick()
		t.plan()
		t.dispatch(ctx)
		t.propose(ctx)
		timer.Reset(t.untilNextEvent())
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-timer.C:
		case r := <-t.results:
			r(t)
		}
	}
}

// follow passes a newly agreed state to the moves.
func (t *term) follow(s *agreed.State) {
	if s == t.state || !s.Founded() {
		return
	}
	t.state = s
	t.schedulePlan()
	for i, place := range s.Table.Places {
		p := ring.Partition(i)
		if i == len(t.moves) {
			t.moves = append(t.moves, move.New(place))
			t.step(p, move.Tick{})
			continue
		}
		before := t.moves[p].Place()
		if agreed.SamePlace(before, place) {
			continue
		}
		if place.Epoch == before.Epoch+1 {
			t.noteMoved(p)
		}
		t.step(p, move.Placed{Place: place})
	}
	before := t.left
	t.left = left(s)
	t.driver.metrics.left.Set(float64(t.left))
	if before > 0 && t.left == 0 {
		t.driver.config.Logger.Info("all partitions are on their planned replicas", "moved", t.arrived)
		t.arrived = 0
	}
}

// left counts the partitions that are to move.
func left(s *agreed.State) (n int) {
	for i := range s.Table.Places {
		if s.Table.Places[i].Moving() {
			n++
		}
	}
	return n
}

// noteMoved counts a finished move.
func (t *term) noteMoved(p ring.Partition) {
	m := t.driver.metrics
	m.moves.Inc()
	t.arrived++
	if s := t.sealed[p]; s != nil {
		m.sealed.Observe(time.Duration(t.now() - s.since).Seconds())
	}
}

// tick steps the moves whose timers have expired.
func (t *term) tick() {
	now := t.now()
	if t.wake == 0 || now < t.wake {
		return
	}
	t.wake = 0
	for p, m := range t.moves {
		switch u := m.Until(); {
		case u > 0 && u <= now:
			t.step(ring.Partition(p), move.Tick{})
		case u > 0 && (t.wake == 0 || u < t.wake):
			t.wake = u
		}
	}
}

// checkNodes notes which nodes are alive. A node that is back is called at once for what its moves want.
func (t *term) checkNodes() {
	now := t.now()
	if t.state == nil || t.checkedAt > 0 && now < t.checkedAt+int64(checkInterval) {
		return
	}
	t.checkedAt = now
	for id := range t.state.Nodes {
		before, known := t.alive[id]
		t.alive[id] = !t.dead(id, 0)
		if known && !before && t.alive[id] {
			for p := range t.moves {
				t.step(ring.Partition(p), move.Back{Node: id})
			}
		}
	}
	t.planForDead()
	for p, s := range t.sealed {
		if !s.warned && now-s.since > int64(warnAfter) {
			s.warned = true
			t.driver.config.Logger.Warn("a partition takes no reservations: its move is stuck",
				"partition", p, "phase", t.moves[p].Phase(), "next", t.state.Describe(t.moves[p].Place().Next), "error", s.why)
		}
	}
}

// untilNextEvent is the time until the driver has to act on its own.
func (t *term) untilNextEvent() time.Duration {
	next := t.checkedAt + int64(checkInterval)
	if t.wake > 0 {
		next = min(next, t.wake)
	}
	if t.planAt > 0 && !t.proposing { // otherwise the proposal's end is waited for
		next = min(next, t.planAt)
	}
	if t.queued {
		return 0
	}
	return time.Duration(max(next-t.now(), 0))
}
