// Package driver carries out changes of the table on the raft leader: it plans them when members come and go, and moves each
// partition to the replicas that were planned, a few at a time. The steps of one move are those of ring/move, the plans those
// of ring/agreed; this package makes the calls to nodes and the proposals to raft. Start with [New] and [Driver.Run].
package driver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/move"
)

const (
	// planDelay is how long the members must stay the same before a change of the table is planned: nodes that join in a
	// burst get one plan.
	planDelay = 500 * time.Millisecond
	// checkInterval is how often the driver checks which nodes are alive.
	checkInterval = 500 * time.Millisecond
	// warnAfter is how long a partition may be sealed before the log says so.
	warnAfter = 5 * time.Second
)

// Peers is what the driver asks of nodes. Each address is a node's gRPC address, as Config.Address tells it.
type Peers interface {
	Seal(ctx context.Context, address string, p ring.Partition, epoch uint64) error
	Copy(ctx context.Context, address string, p ring.Partition, sources []string) error
	Install(ctx context.Context, address string, p ring.Partition, epoch uint64, enough int, sources []string) error
}

// Config is what a driver works with. All fields are required; any goroutine may call the functions.
type Config struct {
	// State is what is agreed, and Changed is closed at the next change: it is called before State.
	State   func() *agreed.State
	Changed func() <-chan struct{}
	// Propose has a command applied: on return without an error, State shows it.
	Propose func(ctx context.Context, c agreed.Command) error
	// Peers reaches all nodes, this one too.
	Peers Peers
	// Address is where a member answers gRPC; empty if that is not known.
	Address func(ring.NodeID) string
	// DeadSince is since when a node has not been heard of; false while it is alive.
	DeadSince func(ring.NodeID) (time.Time, bool)
	Logger    *slog.Logger
	// Metrics is where the metrics of this package are registered.
	Metrics prometheus.Registerer
}

// A Driver carries out changes of the table while this node leads: it plans them when members come and go, and moves each
// partition to where it is planned to be, a few at a time. What it knows is forgotten with its leadership; the next leader's
// driver goes on from what is agreed.
//
//	gossip: dead? ─▶┐                                 ┌─▶ Copy, Seal, Install at nodes ──┐
//	state changed ─▶┼─▶ one goroutine: a move.Move ───┤      (calls, some at a time)     ├─▶ back to it
//	time          ─▶┘   for each partition            └─▶ proposals, many partitions ────┘
//	                                                         in one, one at a time
type Driver struct {
	config  Config
	metrics *metrics

	mu       sync.Mutex
	progress map[ring.Partition]move.Phase // of those that are not settled
}

// New makes a driver; Run runs it.
func New(config Config) *Driver {
	return &Driver{config: config, metrics: newMetrics(config.Metrics), progress: map[ring.Partition]move.Phase{}}
}

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

// now is a monotonic time, never 0.
func (t *term) now() int64 { return 1 + int64(time.Since(t.started)) }

// dead says whether a node has been dead for at least so long.
func (t *term) dead(id ring.NodeID, atLeast time.Duration) bool {
	since, is := t.driver.config.DeadSince(id)
	return is && time.Since(since) >= atLeast
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
