package cluster

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

func TestNodeAloneFoundsItsClusterOnce(t *testing.T) {
	r := newRig(t)
	ch := r.chair("a", 1)
	startAll(ch)
	first := one(ch)
	s := ch.cluster.State()
	if len(s.Table.Places) != 7 || len(s.Table.Places[0].Replicas) != 1 || string(s.Limits) != "limits: {}\n" || s.LimitsVersion != 1 {
		t.Errorf("it has founded %+v", s)
	}
	if n := s.Nodes[ch.config.ID]; n.Mark != ch.config.Mark || n.Name != "a" || n.GRPC != ch.config.GRPC || n.Process != ch.cluster.Process() {
		t.Errorf("it knows itself as %+v", n)
	}
	ch.stop()
	startAll(ch)
	if again := one(ch); again != first {
		t.Errorf("restarted, it is in cluster %s, not %s", again, first)
	}
	if m := ch.cluster.State().Nodes[ch.config.ID].Mark; m != ch.config.Mark {
		t.Errorf("restarted, its mark is %s, want %s", m, ch.config.Mark)
	}
}

func TestThreeFoundInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		t.Run("", func(t *testing.T) {
			r := newRig(t)
			all := expecting(3, r.chairs(3)...)
			withKey(t, "sixteen bytes or more", all...)
			for _, i := range order {
				all[i].start()
			}
			joined(all...)
			one(all...)
			s := all[0].members(3)
			if len(s.Table.Places[0].Replicas) != 3 {
				t.Errorf("partition 0 has the replicas %v", s.Table.Places[0].Replicas)
			}
		})
	}
}

func TestAllRestartAtOnce(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	startAll(all...)
	before := one(all...)
	for _, ch := range all {
		ch.stop()
	}
	startAll(all...)
	if after := one(all...); after != before {
		t.Errorf("they are in cluster %s, and were in %s", after, before)
	}
}

func TestOverlappingListsMakeOneCluster(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(4)...)
	for i, ch := range all {
		j := ch.config.Join
		ch.config.Join = []string{j[i], j[(i+1)%4], j[(i+2)%4]}
	}
	startAll(all...)
	one(all...)
	for _, ch := range all {
		ch.members(4)
	}
}

var errKilled = errors.New("killed by the test")

// Whenever a node dies, once it is back there is one cluster.
func TestNodesKilledWhileFounding(t *testing.T) {
	steps := map[string]int{ // by the node that takes them: 0 is the founder
		"before attempt": 0, "after attempt": 0, "all have promised": 0, "before decision": 0, "after decision": 0,
		"before bootstrap": 0, "after bootstrap": 0, "before found": 0, "after found": 0,
		"before promise": 1, "after promise": 2, "before membership": 1, "after membership": 0,
	}
	for at, who := range steps {
		t.Run(at, func(t *testing.T) {
			r := newRig(t)
			all := expecting(3, r.chairs(3)...)
			victim := all[who]
			var killed atomic.Bool
			victim.config.tuning.step = func(step string) error {
				if killed.Load() || step != at {
					return nil
				}
				killed.Store(true)
				victim.kill() // as a refusal of a promise ends nothing by itself
				return errKilled
			}
			for _, ch := range slices.Backward(all) {
				ch.start()
			}
			<-victim.ended
			if victim.err != nil && !errors.Is(victim.err, errKilled) || !killed.Load() {
				t.Fatalf("it has ended with %v", victim.err)
			}
			victim.stop()
			victim.start()
			joined(all...)
			one(all...)
			victim.members(3)
		})
	}
}

// Four nodes with overlapping lists of three, each of which dies now and then before or after it has written something.
func TestNodesThatDieAtRandomFoundOneCluster(t *testing.T) {
	for range 3 {
		t.Run("", func(t *testing.T) {
			r := newRig(t)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			all := expecting(3, r.chairs(4)...)
			var everybody sync.WaitGroup
			for i, ch := range all {
				j := ch.config.Join
				ch.config.Join = []string{j[i], j[(i+1)%4], j[(i+2)%4]}
				var mu sync.Mutex
				random, deaths := rand.New(rand.NewPCG(seed, uint64(i))), 0
				ch.config.tuning.step = func(string) error {
					mu.Lock()
					defer mu.Unlock()
					if deaths >= 4 || random.IntN(3) > 0 {
						return nil
					}
					deaths++
					ch.kill()
					return errKilled
				}
				ch.start()
				everybody.Go(func() {
					for {
						select {
						case <-ch.cluster.Joined():
							return
						case <-ch.ended:
							ch.stop()
							ch.start()
						case <-time.After(long):
							t.Errorf("node %s has not joined\n%s", ch.config.Name, ch.logs)
							return
						}
					}
				})
			}
			everybody.Wait()
			if t.Failed() {
				return
			}
			for _, ch := range all {
				ch.config.tuning.step = nil
				if !ch.alive() {
					ch.stop()
					ch.start()
				}
			}
			joined(all...)
			one(all...)
			all[0].members(4)
		})
	}
}

// A founder that never comes back keeps its promises: no cluster, rather than two.
func TestFounderThatStaysAway(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(4)...)
	founder := all[0]
	founder.config.tuning.step = func(step string) error {
		if step == "all have promised" {
			return errKilled
		}
		return nil
	}
	startFirst := all[:3]
	for _, ch := range startFirst {
		ch.start()
	}
	founder.ends(errKilled)
	all[3].start()
	all[1].says("has promised to found a cluster with a node that does not answer")
	for _, ch := range all[1:] {
		if s := ch.cluster.State(); s.Founded() {
			t.Errorf("node %s is in cluster %s, without the founder", ch.config.Name, s.Cluster)
		}
	}
	founder.config.tuning.step = nil
	founder.raise()
	founder.start()
	joined(all...)
	one(all...)
}

func TestExpectationsDiffer(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(2)...)
	all[1].config.Expect = 5
	all[0].start()
	all[1].start()
	all[0].ends(agreed.ErrInvalid)
	all[1].ends(agreed.ErrInvalid)
}

func TestNamesOfFoundersDiffer(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	all[2].config.Name = "b"
	for _, ch := range all {
		ch.start()
	}
	all[0].ends(agreed.ErrNameTaken)
}

func TestRegistersOfANodeAlone(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(1)...)
	ch := all[0]
	ch.config.Holds = true
	ch.start()
	ch.ends(agreed.ErrInvalid)
	ch.config.Expect = 1
	ch.raise()
	startAll(ch)
	if s := ch.cluster.State(); !s.Table.Places[3].Has(ch.config.ID) || s.Table.Places[3].Epoch != ring.FirstEpoch {
		t.Errorf("its registers are in %+v", s.Table.Places[3])
	}
}
