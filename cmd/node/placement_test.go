package node

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// noPeers has a way to no other node.
type noPeers struct{ cluster.Peers }

// member is a node in a cluster that has not begun to take part in it.
func member(t *testing.T) *membership {
	t.Helper()
	c := clock.New()
	store, err := storage.Open(storage.Config{Dir: "/data", FS: vfs.NewMem(), Now: c.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := &membership{node: &parts{clock: c, store: store}, id: store.Disk()}
	m.cluster, err = cluster.New(cluster.Config{
		Dir: t.TempDir(), ID: m.id, Name: "a", GRPC: "127.0.0.1:1", BindGossip: "127.0.0.1:0", BindRaft: "127.0.0.1:0",
		Mark: agreed.Mark{Boot: 1}, Peers: noPeers{}, Now: c.Now, Advance: func(int64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(m.cluster.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// settle makes the storage follow a table.
func (m *membership) settleTable(t *testing.T, places ...ring.Place) {
	t.Helper()
	if err := m.syncStorage(t.Context(), &agreed.State{Version: 1, Partitions: len(places), Table: &ring.Table{Places: places}}); err != nil {
		t.Fatal(err)
	}
}

// A founder that keeps no partition of its own must not pass for one that does: it may stand at an address that a replica
// had before.
func TestFoundersBeginWhatTheyKeep(t *testing.T) {
	m := member(t)
	other := ring.NodeID{1}
	m.settleTable(t,
		ring.Place{Epoch: 1, Replicas: []ring.NodeID{m.id}},
		ring.Place{Epoch: 1, Replicas: []ring.NodeID{other}},
		ring.Place{Epoch: 2, Replicas: []ring.NodeID{m.id}})
	for p, epoch := range []uint64{1, 0, 0} {
		if got := m.node.store.Partition(ring.Partition(p)); got.Epoch != epoch || got.Sealed != (epoch == 0) {
			t.Errorf("partition %d: %+v, want epoch %d", p, got, epoch)
		}
	}
	if _, err := m.node.store.Seal(t.Context(), 1, 1); !errors.Is(err, storage.ErrEpoch) {
		t.Errorf("a partition that is kept elsewhere is sealed here: %v", err)
	}
}

// What a node has to do may be overtaken by what another node asks of it. That is no failure of the node.
func TestDutyIsOvertaken(t *testing.T) {
	m := member(t)
	store := m.node.store
	if err := store.Install(t.Context(), 0, 2, register.Partition{}); err != nil {
		t.Fatal(err)
	}
	duty := m.storageTask(ring.Place{Epoch: 2, Replicas: []ring.NodeID{m.id}}, store.Partition(0))
	if duty == nil {
		t.Fatal("an epoch that has begun is not entered")
	}
	if err := store.Install(t.Context(), 0, 3, register.Partition{}); err != nil {
		t.Fatal(err)
	}
	if err := duty(t.Context(), 0); !errors.Is(err, storage.ErrEpoch) || ignoreOvertaken(err) != nil {
		t.Errorf("the duty says %v, and the node would stop", err)
	}
	if got := store.Partition(0); got.Epoch != 0 || got.Installed != 3 {
		t.Errorf("the partition is now %+v", got)
	}
	if err := errors.New("the disk"); ignoreOvertaken(err) == nil {
		t.Error("a failure of the disk is passed over")
	}
}

// After a forced recovery a floor must lie beyond the clocks of others: a node that starts with a clock that is behind has
// not heard them yet.
func TestRecoveredEpochWaitsForTheClocks(t *testing.T) {
	m := member(t)
	place := ring.Place{Epoch: 5, Replicas: []ring.NodeID{m.id}, Floored: true}
	m.settleTable(t, place)
	if got := m.node.store.Partition(0); got.Epoch != 0 || got.Installed != 0 {
		t.Fatalf("before any other clock was heard, the partition is %+v", got)
	}
	m.compared = true
	before := m.node.clock.Now()
	m.settleTable(t, place)
	if got := m.node.store.Partition(0); got.Epoch != 5 || got.Sealed || !got.Floored || got.Floor < before {
		t.Errorf("afterwards it is %+v", got)
	}
}

// Those who are lost may have had this node install an epoch of the number that the recovery chose, and admitted in it what
// this node has never heard of. A floor that came with it, of an earlier recovery or a crash, knows nothing of that either.
func TestRecoveredEpochHasAFloor(t *testing.T) {
	m := member(t)
	m.compared = true
	old := m.node.clock.Now() - int64(time.Hour)
	for p, join := range []register.Partition{{}, {Floored: true, Floor: old}} {
		if err := m.node.store.Install(t.Context(), ring.Partition(p), 5, join); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.node.store.EnterFloored(t.Context(), 2, 4, old); err != nil { // an earlier recovery
		t.Fatal(err)
	}
	before := m.node.clock.Now()
	place := ring.Place{Epoch: 5, Replicas: []ring.NodeID{m.id}, Floored: true}
	m.settleTable(t, place, place, place)
	for p := range ring.Partition(3) {
		if got := m.node.store.Partition(p); got.Epoch != 5 || got.Sealed || !got.Floored || got.Floor < before {
			t.Errorf("partition %d is %+v, without the floor of this recovery", p, got)
		}
	}
}

// A partition that has ended for a recovery is entered with its floor, dropped where other nodes keep it, and installed by the
// moves that follow. The state from before does not count, even on nodes that have it installed.
func TestEndedPartitionsFollowTheRecovery(t *testing.T) {
	m := member(t)
	m.compared = true
	store := m.node.store
	self, other := []ring.NodeID{m.id}, []ring.NodeID{{1}}
	for range 2 { // the second time, as one that is told late
		before := []ring.Place{{Epoch: 1, Replicas: self}, {Epoch: 1, Replicas: self}, {Epoch: 1, Replicas: other}}
		m.settleTable(t, before...)
		if err := store.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		late := store.Install(t.Context(), 0, 2, register.Partition{})
		before[0].Epoch, before[1].Epoch = 2, 2
		m.settleTable(t, before...)
		if got := store.Partition(0); !errors.Is(late, storage.ErrEpoch) || got.Epoch != 1 || !got.Sealed {
			t.Fatalf("an epoch of those who are lost is installed, %v, and entered: %+v", late, got)
		}
	}
	again := ring.Recovered(2)
	m.settleTable(t,
		ring.Place{Epoch: again, Replicas: self, Floored: true},
		ring.Place{Epoch: again, Replicas: other, Floored: true},
		ring.Place{Epoch: again, Replicas: other, Next: self, Floored: true})
	if kept, gone := store.Partition(0), store.Partition(1); kept.Epoch != again || kept.Sealed || !kept.Floored || !gone.Incomplete {
		t.Errorf("after the recovery they are %+v and %+v", kept, gone)
	}
	for p := range ring.Partition(2) {
		if err := store.Install(t.Context(), 1+p, again+1, register.Partition{}); err != nil {
			t.Errorf("partition %d does not take part in a move after the recovery: %v", 1+p, err)
		}
	}
}

// An epoch may have begun before its last member is installed. Nothing is agreed on then, so that the member must look itself.
func TestWhoIsInstalledLooks(t *testing.T) {
	m := member(t)
	installed := make(chan struct{}, 1)
	g := &gate{store: m.node.store, installed: installed}
	if err := g.Install(t.Context(), 0, 2, register.Partition{}); !errors.Is(err, errUnproven) || len(installed) > 0 {
		t.Fatalf("before the node has proved anything, an install says %v", err)
	}
	g.open.Store(true)
	for p := range ring.Partition(2) {
		if err := g.Install(t.Context(), p, 2, register.Partition{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(installed) != 1 {
		t.Error("the cluster is not told of an install")
	}
}
