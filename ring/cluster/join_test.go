package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// pair is a cluster of one, and a node that is to join it.
func pair(t *testing.T) (a, b *chair) {
	t.Helper()
	r := newRig(t)
	all := r.chairs(2)
	a, b = all[0], all[1]
	b.config.Join = []string{a.config.BindGossip}
	startAll(a)
	return a, b
}

// trio is a cluster that three nodes have founded.
func trio(t *testing.T) []*chair {
	t.Helper()
	all := expecting(3, newRig(t).chairs(3)...)
	startAll(all...)
	return all
}

func TestEmptyNodeJoins(t *testing.T) {
	a, b := pair(t)
	b.start()
	joined(a, b)
	one(a, b)
	s := a.sees("b has raised its mark", func(s *agreed.State) bool { return s.Nodes[b.config.ID].Mark == b.config.Mark })
	if n := s.Nodes[b.config.ID]; len(s.Nodes) != 2 || n.Process != b.cluster.Process() || n.Gossip != b.config.BindGossip {
		t.Errorf("it is known as %+v", n)
	}
	b.stop()
	b.config.HTTP = "elsewhere"
	startAll(b)
	s = a.sees("b has another address", func(s *agreed.State) bool { return s.Nodes[b.config.ID].HTTP == "elsewhere" })
	if m := s.Nodes[b.config.ID].Mark; m != b.config.Mark {
		t.Errorf("its mark is %s, want %s", m, b.config.Mark)
	}
}

func TestNodeMovesToOtherPorts(t *testing.T) {
	all := trio(t)
	b := all[1]
	b.stop()
	b.config.BindGossip, b.config.BindRaft, b.config.GRPC = reserve(t), reserve(t), "grpc-moved"
	startAll(b)
	all[0].sees("b has moved", func(s *agreed.State) bool { return s.Nodes[b.config.ID].GRPC == "grpc-moved" })
	if _, err := b.cluster.SetLimits(t.Context(), 1, []byte("limits: {} # 2\n")); err != nil {
		t.Error(err)
	}
}

func TestNewDiskReplacesDeadNode(t *testing.T) {
	all := trio(t)
	all[2].stop()
	instead := all[0].rig.chair("c", 99)
	instead.config.Join, instead.config.Expect = all[0].config.Join, 3
	startAll(instead)
	s := all[0].sees("c is the new disk", func(s *agreed.State) bool { n, _ := s.Named("c"); return n.ID == instead.config.ID })
	if s.Removed[all[2].config.ID] != "c" {
		t.Errorf("removed are %v", s.Removed)
	}
	all[0].sees("it has c's places", func(s *agreed.State) bool {
		return s.Table.Places[0].Has(instead.config.ID) && s.Table.Places[6].Has(instead.config.ID)
	})
	instead.soon("it votes", func() bool {
		roles := all[0].cluster.roles()
		return len(roles) == 3 && roles[instead.config.ID] == "voter"
	})
	all[2].start()
	all[2].ends(agreed.ErrRemoved)
	if !strings.Contains(all[2].err.Error(), "empty") {
		t.Errorf("it is told %q, and not what to do", all[2].err)
	}
}

// The usual way to lose a disk: the same machine, name and ports, and nothing on it. Nobody waits to notice a death.
func TestEmptyDiskAtTheSameAddress(t *testing.T) {
	all := trio(t)
	old := all[2]
	old.stop()
	instead := all[0].rig.chair("c", 99)
	id, dir := instead.config.ID, instead.config.Dir
	instead.config = old.config
	instead.config.ID, instead.config.Dir, instead.config.Mark, instead.config.MarkBefore = id, dir, agreed.Mark{Boot: 1}, agreed.Mark{}
	startAll(instead)
	one(all[0], instead)
	all[0].sees("c is the new disk", func(s *agreed.State) bool { return len(s.Nodes) == 3 && s.Removed[old.config.ID] == "c" })
}

func TestNameOfALivingNodeIsTaken(t *testing.T) {
	a, b := pair(t)
	b.config.Name, b.config.tuning.patience = "a", 300*time.Millisecond
	b.start()
	b.ends(agreed.ErrNameTaken)
	if a.members(1).Nodes[a.config.ID].Name != "a" {
		t.Error("the name has gone to another")
	}
}

func TestClustersDoNotMerge(t *testing.T) {
	a, b := pair(t)
	b.config.Expect = 1
	startAll(b)
	a.says("ERROR", "rejected a node", b.cluster.State().Cluster.String())
	b.says("ERROR", "rejected a node", a.cluster.State().Cluster.String())
	if a.cluster.State().Cluster == b.cluster.State().Cluster || len(a.cluster.State().Nodes) != 1 {
		t.Error("they have merged")
	}
	if a.cluster.gossip.Alive(b.config.ID) {
		t.Error("a foreign node is in the gossip")
	}
	for _, pair := range [][2]*chair{{a, b}, {b, a}} {
		other := pair[1]
		out := pair[0].cluster.Status(t.Context()).KeptOut
		if len(out) != 1 || out[0].Name != other.config.Name || out[0].Gossip != other.config.BindGossip || out[0].Cluster != other.cluster.State().Cluster.String() {
			t.Errorf("%s tells that it keeps out %+v, want %s", pair[0].config.Name, out, other.config.Name)
		}
	}
}

func TestJoinListOfTwoClusters(t *testing.T) {
	a, b := pair(t)
	b.config.Join = nil
	startAll(b)
	c := a.rig.chair("c", 77)
	c.config.Join = []string{a.config.BindGossip, b.config.BindGossip}
	c.start()
	select { // it may have found one before it has heard of the other; then it belongs to that one
	case <-c.cluster.Joined():
	case <-c.ended:
		c.ends(message.ErrForeign)
	case <-time.After(long):
		t.Errorf("neither\n%s", c.logs)
	}
}

func TestOtherKeyIsKeptOut(t *testing.T) {
	for name, secrets := range map[string][2]string{
		"another": {"sixteen bytes and more", "sixteen bytes and other"}, "none here": {"sixteen bytes and more", ""}, "none there": {"", "sixteen bytes and more"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			all := r.chairs(2)
			for i, secret := range secrets {
				if secret != "" {
					withKey(t, secret, all[i])
				}
			}
			all[1].config.Join = []string{all[0].config.BindGossip}
			startAll(all[0])
			all[1].start()
			all[0].says("ERROR", "another cluster key", "--cluster-key-file")
			all[1].says("ERROR", "another cluster key", "--cluster-key-file")
			if len(all[0].cluster.State().Nodes) != 1 || all[1].cluster.State().Founded() {
				t.Error("it was let in")
			}
		})
	}
}

func TestOtherPartitionCountIsKeptOut(t *testing.T) {
	a, b := pair(t)
	b.config.Partitions = 8
	b.start()
	a.says("ERROR", "rejected a node", "8 partitions", "7")
	b.says("ERROR", "rejected a node", "7 partitions", "8")
	if len(a.cluster.State().Nodes) != 1 {
		t.Error("it was let in")
	}
}

func TestOldCopyOfADisk(t *testing.T) {
	all := trio(t)
	c := all[2]
	first, before := c.config.Mark, c.config.MarkBefore
	c.stop()
	startAll(c)
	c.stop()
	good, goodBefore := c.config.Mark, c.config.MarkBefore

	t.Log("a store from before the last start")
	c.config.Mark, c.config.MarkBefore = agreed.Mark{Boot: first.Boot + 1, Minute: 5000}, first
	c.start()
	c.ends(message.ErrOldCopy)
	noticedBeforeRaft(c)

	t.Log("a store that lacks minutes only")
	c.config.MarkBefore = agreed.Mark{Boot: goodBefore.Boot, Minute: goodBefore.Minute - 1}
	c.config.Mark = agreed.Mark{Boot: goodBefore.Boot + 1, Minute: 5000}
	c.start()
	c.ends(message.ErrOldCopy)
	noticedBeforeRaft(c)

	t.Log("a disk from before the founding")
	dir := c.config.Dir
	c.config.Dir = filepath.Join(t.TempDir(), "cluster")
	c.config.Mark, c.config.MarkBefore = first, before
	c.start()
	c.ends(message.ErrOldCopy)

	t.Log("the disk itself")
	c.config.Dir, c.config.Mark, c.config.MarkBefore = dir, good, goodBefore
	startAll(c)
}

// noticedBeforeRaft makes sure that a member's old copy has found itself out. The leader would refuse it too, but only
// when its raft runs already, which has forgotten whom it voted for.
func noticedBeforeRaft(c *chair) {
	c.rig.t.Helper()
	if !strings.Contains(c.err.Error(), "when this node started") {
		c.rig.t.Errorf("somebody else has noticed the old copy: %v", c.err)
	}
}

// The mark that betrays a copy is on a majority of disks; so many must answer, and two of three have to be up.
func TestProofWaitsForAMajority(t *testing.T) {
	all := trio(t)
	for _, ch := range all {
		ch.stop()
	}
	all[0].start()
	all[0].says("waiting for a majority")
	select {
	case <-all[0].cluster.Joined():
		t.Error("it has joined alone")
	default:
	}
	startAll(all[1])
	joined(all[0])
}

func TestMinuteMarksFollow(t *testing.T) {
	r := newRig(t)
	a := r.chair("a", 1)
	marks := make(chan agreed.Mark)
	a.config.NewMarks = marks
	startAll(a)
	m := agreed.Mark{Boot: a.config.Mark.Boot, Minute: a.config.Mark.Minute + 7}
	marks <- m
	a.sees("the mark is raised", func(s *agreed.State) bool { return s.Nodes[a.config.ID].Mark == m })
}

func TestRemovedNodeEnds(t *testing.T) {
	a, b := pair(t)
	marks := make(chan agreed.Mark, 1)
	b.config.NewMarks = marks
	startAll(b)
	has := func(s *agreed.State, id ring.NodeID) bool {
		for _, p := range s.Table.Places {
			if p.Has(id) || p.Moving() {
				return true
			}
		}
		return false
	}
	a.sees("b has partitions", func(s *agreed.State) bool { return len(s.Nodes) == 2 && has(s, b.config.ID) })
	ctx := t.Context()
	if err := a.cluster.Remove(ctx, "b", false); !errors.Is(err, agreed.ErrHasPlaces) {
		t.Errorf("with partitions it is removed: %v", err)
	}
	if err := a.cluster.Remove(ctx, "b", true); !errors.Is(err, message.ErrAlive) || !strings.Contains(err.Error(), "jeton cluster drain") {
		t.Errorf("alive, with partitions, it is removed by force: %v", err)
	}
	if _, err := b.cluster.Drain(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.cluster.Drain(ctx, a.config.ID.String()); !errors.Is(err, agreed.ErrTooFew) {
		t.Errorf("the last one is drained: %v", err)
	}
	a.sees("b is empty", func(s *agreed.State) bool { return !has(s, b.config.ID) })
	if err := b.cluster.Remove(ctx, "b", false); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"b", b.config.ID.String()} { // the first answer may have been lost
		if err := a.cluster.Remove(ctx, node, false); err != nil {
			t.Errorf("%s is removed once more: %v", node, err)
		}
		if left, err := a.cluster.Drain(ctx, node); err != nil || left != 0 {
			t.Errorf("%s, which was removed, is drained: %d partitions left, %v", node, left, err)
		}
		if err := a.cluster.Undrain(ctx, node); !errors.Is(err, agreed.ErrUnknownNode) {
			t.Errorf("%s, which was removed, is given partitions again: %v", node, err)
		}
	}
	if err := a.cluster.Remove(ctx, "c", false); !errors.Is(err, agreed.ErrUnknownNode) {
		t.Errorf("a node that never was is removed: %v", err)
	}
	marks <- agreed.Mark{Boot: b.config.Mark.Boot, Minute: b.config.Mark.Minute + 1}
	b.ends(agreed.ErrRemoved)
	if err := a.cluster.Remove(ctx, "a", true); !errors.Is(err, agreed.ErrTooFew) {
		t.Errorf("the last node is removed: %v", err)
	}
	b.raise()
	b.start()
	b.ends(agreed.ErrRemoved)
}

// A halting fabric fails to copy once it was told to: moves do not come to their end.
type halting struct {
	*fabric

	halted atomic.Bool
}

func (h *halting) Copy(context.Context, string, ring.Partition, []string) error {
	if h.halted.Load() {
		return errors.New("it is halted")
	}
	return nil
}

// What a drained node still keeps is what the leader says, whoever is asked: a node that knows little or nothing yet must
// not call it empty, for then it would be stopped.
func TestDrainTellsWhatTheLeaderKnows(t *testing.T) {
	a, b := pair(t)
	h := &halting{fabric: a.rig.fabric}
	for _, ch := range []*chair{a, b} {
		ch.stop()
		ch.config.Peers = h
	}
	startAll(a, b)
	keeps := func(s *agreed.State) (n int) {
		for _, p := range s.Table.Places {
			if p.Has(b.config.ID) || slices.Contains(p.Next, b.config.ID) {
				n++
			}
		}
		return n
	}
	a.sees("b has its share", func(s *agreed.State) bool { return keeps(s) >= 3 })
	h.halted.Store(true)
	stranger := a.rig.chair("a", 99) // waits to be let in, for its name is taken
	stranger.config.Join = []string{a.config.BindGossip}
	stranger.config.tuning.patience = long // it waits until the end of the test
	stranger.start()
	for _, asked := range []*chair{a, b, stranger} {
		left, err := asked.cluster.Drain(t.Context(), "b")
		if err != nil || left < 3 {
			t.Errorf("node %s says that b keeps %d partitions, %v; it keeps %d", asked.config.Name, left, err, keeps(a.cluster.State()))
		}
	}
	if n := len(stranger.cluster.State().Nodes); n > 0 {
		t.Errorf("the stranger knows %d nodes: it shows nothing", n)
	}
	h.halted.Store(false)
	a.soon("b is empty", func() bool {
		left, err := stranger.cluster.Drain(t.Context(), "b")
		return err == nil && left == 0
	})
	if err := stranger.cluster.Remove(t.Context(), "b", false); err != nil {
		t.Errorf("b is said to be empty, and is not removed: %v", err)
	}
}

func TestLeaveIsSeenAndEnds(t *testing.T) {
	all := trio(t)
	b := all[1]
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	b.cluster.Leave(ctx)
	for _, ch := range all {
		ch.sees("b is leaving", func(s *agreed.State) bool { return s.Nodes[b.config.ID].Leaving })
	}
	b.stop()
	startAll(b)
	for _, ch := range all {
		ch.sees("b is back", func(s *agreed.State) bool { return !s.Nodes[b.config.ID].Leaving })
	}
}

// Once nodes were members, what they agreed on tells them where the others are.
func TestMembersFindOneAnotherWithoutJoin(t *testing.T) {
	all := trio(t)
	one(all...)
	for _, ch := range all {
		ch.stop()
		ch.config.Join, ch.config.Expect = nil, 0
	}
	startAll(all...)
	one(all...)
	all[0].members(3)
}

// Whoever tells the others of a mark has to have it on disk, or the disk itself looks like an old copy after a crash.
func TestMarkIsConfirmedBeforeItIsTold(t *testing.T) {
	a, b := pair(t)
	for range 2 {
		confirmed := 0
		b.config.Confirm = func(context.Context) error {
			confirmed++
			if m := a.cluster.State().Nodes[b.config.ID].Mark; m.Compare(b.config.MarkBefore) > 0 {
				t.Errorf("%s is told, and %s is on disk", m, b.config.MarkBefore)
			}
			return nil
		}
		startAll(b)
		if confirmed != 1 {
			t.Errorf("it was confirmed %d times", confirmed)
		}
		b.stop()
	}

	t.Log("a mark that was not confirmed was not told: the disk is as good as before")
	lost := errors.New("disk failed")
	b.config.Confirm = func(context.Context) error { return lost }
	before := b.config.MarkBefore
	b.start()
	b.ends(lost)
	b.raise()
	b.config.MarkBefore, b.config.Confirm = before, nil
	startAll(b)
}
