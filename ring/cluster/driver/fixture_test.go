package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

// A share is what a fake node has of one partition.
type share struct {
	epoch     uint64
	sealed    bool
	installed uint64
	copied    bool
	floored   bool
}

// A stage is a cluster without disks and wires: raft is a state and a lock, nodes are what they have of each partition,
// and every call can be made to fail. It must be used in a synctest bubble.
type stage struct {
	t *testing.T

	mu       sync.Mutex
	agreed   *agreed.State
	changed  chan struct{}
	commands []agreed.Command
	shares   map[string]map[ring.Partition]*share // by address
	down     map[string]time.Time
	calls    []string
	widest   int // how many partitions were between next and commit at once
	urgent   int // calls that are under way
	busiest  int // and at most

	// fail says how a call fails: not at all, before it has happened, or after. Nil: none does.
	fail func(call string) failure
	// took is how long a call takes. Nil: no time.
	took func(call string) time.Duration
	// refuse is why raft refuses a command. Nil: it does not.
	refuse func(agreed.Command) error
	// then is called when a command was applied, with the lock held. Nil: nothing.
	then func(agreed.Command)
}

type failure int

const (
	works failure = iota
	fails
	happensAndFails
)

var errStaged = errors.New("made to fail")

func newStage(t *testing.T, founded *agreed.State) *stage {
	t.Helper()
	s := &stage{
		t: t, agreed: founded, changed: make(chan struct{}),
		shares: map[string]map[ring.Partition]*share{}, down: map[string]time.Time{},
	}
	for p, place := range founded.Table.Places {
		for _, id := range place.Replicas {
			*s.share(string(id[15]), ring.Partition(p)) = share{epoch: ring.FirstEpoch, installed: ring.FirstEpoch}
		}
	}
	return s
}

// share is what a node has of a partition, once it has heard of what is agreed: it answers for an epoch that it has
// installed, and drops what it is no replica of. The lock is held.
func (s *stage) share(address string, p ring.Partition) *share {
	if s.shares[address] == nil {
		s.shares[address] = map[ring.Partition]*share{}
	}
	h := s.shares[address][p]
	if h == nil {
		h = &share{}
		s.shares[address][p] = h
	}
	place := s.agreed.Table.Places[p]
	switch id := agreedtest.Letter(address[0]); {
	case h.epoch < place.Epoch && h.installed == place.Epoch && place.Has(id):
		h.epoch, h.sealed = place.Epoch, false
	case h.epoch < place.Epoch && !place.Has(id) && !slices.Contains(place.Next, id) && !slices.Contains(place.Target, id):
		*h = share{epoch: h.epoch, sealed: true}
	}
	return h
}

// call is one call of the driver: the lock is held while it does what it does, not while it takes its time.
func (s *stage) call(ctx context.Context, address, what string, do func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, what)
	s.urgent++
	s.busiest = max(s.busiest, s.urgent)
	how, wait := works, time.Duration(0)
	if s.fail != nil {
		how = s.fail(what)
	}
	if s.took != nil {
		wait = s.took(what)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.urgent--
		s.mu.Unlock()
	}()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := s.down[address]; is || how == fails {
		return errStaged
	}
	if err := do(); err != nil || how == works {
		return err
	}
	return errStaged
}

func (s *stage) Copy(ctx context.Context, address string, p ring.Partition, sources []string) error {
	return s.call(ctx, address, fmt.Sprintf("copy %s %d", address, p), func() error {
		for _, source := range sources {
			if _, is := s.down[source]; !is && s.share(source, p).installed > 0 {
				s.share(address, p).copied = true
				return nil
			}
		}
		return errors.New("no source has anything")
	})
}

func (s *stage) Seal(ctx context.Context, address string, p ring.Partition, epoch uint64) (floored bool, err error) {
	err = s.call(ctx, address, fmt.Sprintf("seal %s %d %d", address, p, epoch), func() error {
		h := s.share(address, p)
		floored = h.floored
		if h.epoch != epoch || h.installed < epoch {
			return fmt.Errorf("%s is in epoch %d of partition %d", address, h.epoch, p)
		}
		h.sealed = true
		return nil
	})
	return floored, err
}

func (s *stage) Install(ctx context.Context, address string, p ring.Partition, epoch uint64, enough int, sources []string) error {
	return s.call(ctx, address, fmt.Sprintf("install %s %d %d", address, p, epoch), func() error {
		h := s.share(address, p)
		if h.installed == epoch {
			return nil
		}
		if h.epoch >= epoch || len(sources) == 0 || enough < 1 {
			return fmt.Errorf("%s is in epoch %d of partition %d, and cannot install %d from %v", address, h.epoch, p, epoch, sources)
		}
		sealed, exact, installed := 0, 0, false
		for _, source := range sources {
			if _, is := s.down[source]; is {
				continue
			}
			from := s.share(source, p)
			if from.sealed && from.epoch == epoch-1 && from.installed >= epoch-1 {
				if sealed++; !from.floored {
					exact++
				}
			}
			installed = installed || from.installed == epoch
		}
		if sealed < enough && !installed {
			return fmt.Errorf("%d of %d sources are sealed", sealed, enough)
		}
		h.installed, h.floored = epoch, exact < enough && !installed
		return nil
	})
}

func (s *stage) state() *agreed.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agreed
}

func (s *stage) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// propose is raft. It holds every commit against what nodes have.
func (s *stage) propose(ctx context.Context, c agreed.Command) error {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(c); err != nil {
			return err
		}
	}
	next, err := c.Apply(s.agreed)
	if err != nil {
		return err
	}
	if c.Commit != nil {
		for _, change := range c.Commit.Changes {
			s.judge(change)
		}
	}
	s.commands = append(s.commands, c)
	if next != s.agreed {
		s.agreed = next
		close(s.changed)
		s.changed = make(chan struct{})
	}
	moving := 0
	for _, place := range next.Table.Places {
		if len(place.Next) > 0 {
			moving++
		}
	}
	s.widest = max(s.widest, moving)
	if s.then != nil {
		s.then(c)
	}
	return nil
}

// judge fails the test if a commit comes before W members of next have installed.
func (s *stage) judge(c agreed.Change) {
	installed := 0
	for _, id := range c.Replicas {
		if h := s.shares[string(id[15])][c.Partition]; h != nil && h.installed == c.Epoch+1 {
			installed++
		}
	}
	if installed < ring.Majority(len(c.Replicas)) {
		s.t.Errorf("partition %d: epoch %d with %s is committed, and %d have installed", c.Partition, c.Epoch+1, agreedtest.Spell(c.Replicas), installed)
	}
}

// apply has an operator's command applied.
func (s *stage) apply(c agreed.Command) {
	s.t.Helper()
	if err := s.propose(s.t.Context(), c); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) join(nodes string) {
	s.t.Helper()
	for i := range len(nodes) {
		s.apply(agreed.Command{Join: &agreed.Join{Node: agreedtest.LetterNode(nodes[i])}})
	}
}

func (s *stage) setDown(address string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setDownLocked(address, down)
}

func (s *stage) setDownLocked(address string, down bool) {
	if down {
		s.down[address] = time.Now()
		return
	}
	delete(s.down, address)
}

func (s *stage) deadSince(id ring.NodeID) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, is := s.down[string(id[15])]
	return at, is
}

// drive runs a driver until the function that it returns is called, or the test ends.
func (s *stage) drive() (*Driver, func()) {
	s.t.Helper()
	d := New(Config{
		State: s.state, Changed: s.changes, Propose: s.propose, Peers: s,
		Address:   func(id ring.NodeID) string { return s.state().Nodes[id].GRPC },
		DeadSince: s.deadSince, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	stop := func() {
		cancel()
		<-ended
	}
	s.t.Cleanup(stop)
	return d, stop
}

// within waits until something is so; the time is the bubble's.
func (s *stage) within(limit time.Duration, what string, so func() bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); ; {
		synctest.Wait()
		if so() {
			return
		}
		if !time.Now().Before(end) {
			s.t.Fatalf("%s: not within %v; %s", what, limit, s.picture())
		}
		<-time.After(10 * time.Millisecond)
	}
}

// rest waits until the table has come to rest, with replicas of each partition on these nodes only, and every replica
// in the epoch of its partition.
func (s *stage) rest(limit time.Duration, nodes string, replicas int) {
	s.t.Helper()
	s.within(limit, fmt.Sprintf("%d replicas on %s", replicas, nodes), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		used := map[ring.NodeID]bool{}
		for p, place := range s.agreed.Table.Places {
			if place.Moving() || len(place.Replicas) != replicas {
				return false
			}
			for _, id := range place.Replicas {
				used[id] = true
				if h := s.share(string(id[15]), ring.Partition(p)); h.epoch != place.Epoch || h.sealed {
					return false
				}
			}
		}
		var all []ring.NodeID
		for id := range used {
			all = append(all, id)
		}
		slices.SortFunc(all, func(a, b ring.NodeID) int { return cmp.Compare(a[15], b[15]) })
		return agreedtest.Spell(all) == nodes
	})
}

func (s *stage) picture() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	for p, place := range s.agreed.Table.Places {
		text += fmt.Sprintf("\n%d: %d %s target %s next %s", p, place.Epoch, agreedtest.Spell(place.Replicas), agreedtest.Spell(place.Target), agreedtest.Spell(place.Next))
	}
	return text
}

// asked are the calls that were made, but for the first n.
func (s *stage) asked(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls[n:])
}

// proposed counts the commands of a kind that were applied.
func (s *stage) proposed(is func(agreed.Command) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands {
		if is(c) {
			n++
		}
	}
	return n
}

// flaky fails a part of all calls, half of those after they have happened.
func flaky(seed uint64, part float64) func(string) failure {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string) failure {
		switch {
		case random.Float64() >= part:
			return works
		case random.Float64() < 0.5:
			return fails
		}
		return happensAndFails
	}
}

// value is what a counter or gauge shows, or how much a histogram has seen.
func value(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue() + float64(out.GetHistogram().GetSampleCount())
}
