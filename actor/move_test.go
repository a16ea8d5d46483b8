package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/ring"
)

// A busy cluster is one under load: two Systems that decide for the same keys at once, while partitions move and peers
// are in trouble.
type busy struct {
	*cluster
	systems []*System
	viewers []*viewer
	rule    *limit.Rule

	mu    sync.Mutex
	calls []history.Call
	slow  time.Duration // the longest that a check took
}

// lasts is how long a cluster is busy in these tests.
const lasts = 5 * time.Second

func newBusy(t *testing.T, nodes, replicas int) *busy {
	t.Helper()
	b := &busy{cluster: newCluster(clock.New().Now, nodes, replicas, 3)}
	b.slowly(3 * time.Millisecond)
	doc := document(t, "limits: {x: {capacity: 20, refill: 100/s}}")
	b.rule, _ = doc.Rule("x")
	for range 2 {
		v := b.viewer()
		b.viewers, b.systems = append(b.viewers, v), append(b.systems, v.start(t, Config{Limits: fixed(doc)}))
	}
	return b
}

// load has callers check six keys at both Systems, while each of others does what it likes until the load ends.
func (b *busy) load(t *testing.T, others ...func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wait sync.WaitGroup
	for life, s := range b.systems {
		for range 6 {
			wait.Go(func() {
				for ctx.Err() == nil {
					b.check(t, s, life, fmt.Sprint("key:", rand.IntN(6)))
					<-time.After(rand.N(20 * time.Millisecond))
				}
			})
		}
	}
	for _, f := range others {
		wait.Go(func() { f(ctx) })
	}
	wait.Wait()
}

func (b *busy) check(t *testing.T, s *System, life int, key string) {
	t.Helper()
	r := spend(key, 1+rand.Int64N(2), "x")
	r.Receipt = true
	call := history.Call{
		Kind: history.KindCheck, Limit: b.rule.Name, Key: key, Cost: r.Cost, Start: b.now(), Via: fmt.Sprint("system ", life+1),
	}
	d, err := s.Check(t.Context(), r)
	call.End = b.now()
	load.Decided(&call, d, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slow = max(b.slow, time.Duration(call.End-call.Start))
	b.calls = append(b.calls, call)
	if err != nil {
		t.Errorf("a check got no decision: %v", err)
	}
}

// verdict says whether a limit was exceeded, and t fails if little was admitted.
func (b *busy) verdict(t *testing.T) error {
	t.Helper()
	admitted := int64(0)
	for _, c := range b.calls {
		if c.Outcome == history.Admitted {
			admitted += c.Cost
		}
	}
	most := 6 * int64(20+100*lasts/time.Second)
	t.Logf("%d of %d tokens were admitted, the slowest check took %v", admitted, most, b.slow)
	if admitted < most/3 {
		t.Errorf("%d tokens were admitted, and %d could have been", admitted, most)
	}
	return history.Safe(&history.History{Limits: []history.Limit{load.Limit(b.rule)}, Calls: b.calls}, 0)
}

// A driver moves partitions.
type driver struct {
	sizes    []int // of the new sets
	unsealed bool  // wrong: no old member is sealed
	empty    bool  // wrong: the new members begin without registers
}

// drive moves partitions to other nodes again and again, as many as before or not. Both Systems and the members learn of
// it at different times.
func (b *busy) drive(t *testing.T, how driver) func(context.Context) {
	t.Helper()
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			p := ring.Partition(rand.IntN(len(b.places)))
			members := b.members(p)
			if !how.unsealed {
				seal(p, members)
			}
			<-time.After(rand.N(20 * time.Millisecond))
			j, err := b.join(p, members)
			if err != nil && !how.unsealed {
				t.Error(err)
			}
			if how.empty {
				j.registers = nil
			}
			next := b.some(how.sizes[rand.IntN(len(how.sizes))])
			b.install(p, next, j)
			for _, i := range rand.Perm(len(next) + len(b.viewers)) { // they learn of it one by one
				<-time.After(rand.N(10 * time.Millisecond))
				if i < len(next) {
					b.enter(p, next[i])
				} else {
					b.viewers[i-len(next)].learn(p)
				}
			}
			<-time.After(rand.N(50 * time.Millisecond))
		}
	}
}

// harm has one peer after the other die or fall silent for a while.
func (b *busy) harm(ctx context.Context) {
	for ctx.Err() == nil {
		p := b.peers[rand.IntN(len(b.peers))]
		p.trouble(rand.IntN(2) == 0, rand.IntN(2) == 0)
		<-time.After(rand.N(100 * time.Millisecond))
		p.trouble(false, false)
		<-time.After(rand.N(20 * time.Millisecond))
	}
}

// TestTwoSystems has two Systems decide for the same keys at once.
func TestTwoSystems(t *testing.T) {
	for _, replicas := range []int{1, 3, 5} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t, replicas, replicas)
				b.load(t)
				if err := b.verdict(t); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTwoSystemsInTrouble has one of the replicas in trouble all the time.
func TestTwoSystemsInTrouble(t *testing.T) {
	for _, replicas := range []int{3, 5} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t, replicas, replicas)
				b.load(t, b.harm)
				if err := b.verdict(t); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestMoves moves partitions all the time.
func TestMoves(t *testing.T) {
	for range 4 {
		synctest.Test(t, func(t *testing.T) {
			b := newBusy(t, 6, 3)
			b.load(t, b.drive(t, driver{sizes: []int{1, 3, 5}}))
			b.moved(t)
		})
	}
}

// TestMovesInTrouble moves partitions while one of the nodes is in trouble all the time.
func TestMovesInTrouble(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			b := newBusy(t, 6, 3)
			b.load(t, b.drive(t, driver{sizes: []int{3, 5}}), b.harm)
			b.moved(t)
		})
	}
}

// moved fails t if a limit was exceeded, or if partitions have hardly moved.
func (b *busy) moved(t *testing.T) {
	t.Helper()
	if err := b.verdict(t); err != nil {
		t.Error(err)
	}
	for p, place := range b.places {
		if place.Epoch < 5 {
			t.Errorf("partition %d is in epoch %d", p, place.Epoch)
		}
	}
}

// TestWrongMovesAreFound shows that the test before would find what is wrong.
func TestWrongMovesAreFound(t *testing.T) {
	for what, how := range map[string]driver{
		"unsealed": {sizes: []int{3}, unsealed: true}, "empty": {sizes: []int{3}, empty: true},
	} {
		t.Run(what, func(t *testing.T) {
			for range 10 {
				found := false
				synctest.Test(t, func(t *testing.T) {
					b := newBusy(t, 6, 3)
					b.load(t, b.drive(t, how))
					found = b.verdict(t) != nil
				})
				if found {
					return
				}
			}
			t.Error("nothing was found")
		})
	}
}

// TestEnter moves a partition while a check waits, and while an actor holds a segment and has given back line.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		c := newCluster(clock.New().Now, 5, 3, 1)
		v := c.viewer()
		s := v.start(t, Config{Metrics: reg, Node: "here"})
		receipt := proof(t, s, spend("a", 4, "demo"))
		decide(t, s, spend("a", 1, "demo"))
		members := c.peers[:3] // all: what waits must not have taken line at one of them
		seal(0, members)
		waiting := ask(t.Context(), s, spend("b", 3, "demo"))
		pass(time.Second)
		pending(t, waiting)
		j, err := c.join(0, members)
		if err != nil {
			t.Fatal(err)
		}
		c.install(0, c.ids(2, 3, 4), j)
		v.learn(0)
		for _, id := range c.ids(2, 3, 4) {
			pass(100 * time.Millisecond)
			pending(t, waiting)
			c.enter(0, id)
			if id[0] == 3 { // two of three
				break
			}
		}
		pass(8 * time.Millisecond)
		if a := settled(t, waiting); a.err != nil || !a.Allowed {
			t.Errorf("what waited when the partition moved: %+v", a)
		}
		if took := takeBack(t, s, "a", receipt); !took[0] {
			t.Error("a receipt of the epoch before had no effect")
		}
		if a, b := drain(t, s, "a", "demo"), drain(t, s, "b", "demo"); a != 9 || b != 7 {
			t.Errorf("%d and %d were admitted afterwards, want 9 and 7", a, b)
		}
		if got := count(t, reg, "jeton_epochs_entered_total"); got != 2 {
			t.Errorf("%v actors entered another epoch, want 2", got)
		}
		if got := count(t, reg, "jeton_reservation_refusals_total", "sealed"); got < 100 {
			t.Errorf("%v reservations were refused because of the seal", got)
		}
		if in := inspect(t, s, limit.Named("demo")); in.Epoch != 2 || in.Registers[0].Node != "node-3" {
			t.Errorf("inspected %+v, want epoch 2 on node-3 to node-5", in)
		}
	})
}

// TestMoved takes the partition away from the node, and gives it back.
func TestMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(clock.New().Now, 3, 3, 1)
		v := c.viewer()
		here := v.at(0)
		s := v.start(t, Config{})
		receipt := proof(t, s, spend("a", 4, "demo"))
		c.peers[1].trouble(false, true)
		c.peers[2].trouble(false, true)
		waiting := ask(t.Context(), s, spend("b", 1, "demo"))
		attached := ask(t.Context(), s, named("one", spend("c", 1, "demo")))
		synctest.Wait()
		again := ask(t.Context(), s, named("one", spend("c", 1, "demo")))
		pass(time.Millisecond)
		v.placements[0].Store(nil)
		if _, err := s.Check(t.Context(), spend("new", 1, "demo")); !errors.Is(err, ErrMoved) || !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("a check of a new key: %v", err)
		}
		for what, err := range map[string]error{
			"a check":   func() error { _, err := s.Check(t.Context(), spend("a", 1, "demo")); return err }(),
			"a denial":  func() error { _, err := s.Check(t.Context(), spend("a", 11, "demo")); return err }(),
			"a reset":   s.Reset(t.Context(), "a", limit.Named("demo")),
			"a return":  func() error { _, err := s.Return(t.Context(), "a", []limit.Receipt{receipt}); return err }(),
			"a look":    func() error { _, err := s.Inspect(t.Context(), "a", limit.Named("demo"), ""); return err }(),
			"in batch":  s.CheckBatch(t.Context(), []limit.Request{spend("a", 1, "demo")})[0].Err,
			"with a id": func() error { _, err := s.Check(t.Context(), named("x", spend("a", 1, "demo"))); return err }(),
		} {
			if !errors.Is(err, ErrMoved) {
				t.Errorf("%s: %v, want that the partition has moved", what, err)
			}
		}
		pass(1100 * time.Millisecond) // when the silent ones would be asked again
		for _, waits := range []<-chan result{waiting, attached, again} {
			if a := settled(t, waits); !errors.Is(a.err, ErrMoved) {
				t.Errorf("what waited: %+v", a)
			}
		}
		if o := overview(t, s); o.Awake != 0 || o.Waiting != 0 {
			t.Errorf("actors of a partition that has gone are awake: %+v", o)
		}
		for _, p := range c.peers {
			p.trouble(false, false)
		}
		v.placements[0].Store(here)
		if got := drain(t, s, "a", "demo"); got != 6 {
			t.Errorf("%d of 10 were admitted after 4, want 6", got)
		}
	})
}

// TestAnotherOrder replaces the set of an epoch by one with the same nodes in another order. What a replica says to what it
// was sent as a member of the old one must not count as another's word.
func TestAnotherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(clock.New().Now, 3, 3, 1)
		var placement atomic.Pointer[Placement]
		set := func(order ...int) *Placement {
			var (
				replicas []Replica
				names    []string
			)
			for _, i := range order {
				replicas, names = append(replicas, c.peers[i]), append(names, c.peers[i].name)
			}
			return &Placement{Epoch: ring.FirstEpoch, Set: NewReplicaSet(replicas, names)}
		}
		placement.Store(set(0, 1, 2))
		for _, p := range c.peers {
			p.delay = func() time.Duration { return 10 * time.Millisecond }
		}
		c.peers[1].trouble(false, true)
		c.peers[2].trouble(false, true)
		s := start(t, Config{
			Now: c.now, Partitions: 1, Placement: func(ring.Partition) *Placement { return placement.Load() },
		})
		waiting := ask(t.Context(), s, spend("a", 1, "demo"))
		pass(5 * time.Millisecond)
		placement.Store(set(2, 1, 0))
		ask(t.Context(), s, spend("a", 1, "demo")) // and the actor sees it
		pass(50 * time.Millisecond)                // node-1 has accepted twice, as 0 and as 2
		pending(t, waiting)
		if got := len(c.peers[0].registers); got != 1 {
			t.Errorf("%d registers on node-1, want 1", got)
		}
		c.peers[1].trouble(false, false)
		pass(1100 * time.Millisecond)
		if a := settled(t, waiting); a.err != nil || !a.Allowed {
			t.Errorf("with a majority: %+v", a)
		}
	})
}

// TestManyPlacements wakes keys in partitions that are in different epochs and sets: what owners have in common is shared.
func TestManyPlacements(t *testing.T) {
	c := newCluster(clock.New().Now, 5, 3, 64)
	for p := range c.places {
		for range p % 4 {
			c.move(t, ring.Partition(p), c.ids(p%3, p%3+1, p%3+2))
		}
	}
	v := c.viewer()
	s := v.start(t, Config{Shards: 1, IdleAfter: time.Hour})
	for i := range 1000 {
		decide(t, s, spend(fmt.Sprint("key:", i), 1, "demo"))
	}
	terms := map[any]bool{}
	sh := s.shards[0]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for a := range sh.actors.all() {
		terms[a.owner.Terms] = true
	}
	// Epoch 1 on the first three nodes, and epochs 2 to 4 on three sets.
	if len(terms) != 1+3*3 {
		t.Errorf("the actors of 64 partitions have %d terms, want 10", len(terms))
	}
}
