package consensus

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
	"github.com/jeton-dev/jeton/ring/key"
)

// patienceOfTests is how long a test waits for what has to happen: the longest makes more than 500 proposals, each an fsync.
const patienceOfTests = 5 * time.Minute

// agreements are the nodes of a test, in one process, with real raft on real connections and disks.
type agreements struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the test
	key  *key.Key
	dirs map[int]string

	change func(i int, config *Config) // nil, or what is changed in the configuration of node i

	mu    sync.Mutex
	where map[ring.NodeID]string // what gossip would say
	open  map[int]*Agreement
}

// newAgreements is none yet; what is open at the end of the test is stopped.
func newAgreements(t *testing.T, k *key.Key) *agreements {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
	g := &agreements{t: t, ctx: ctx, key: k, dirs: map[int]string{}, where: map[ring.NodeID]string{}, open: map[int]*Agreement{}}
	t.Cleanup(func() {
		for _, i := range slices.Sorted(maps.Keys(g.open)) {
			if err := g.open[i].Stop(); err != nil {
				t.Error(err)
			}
		}
		cancel()
	})
	return g
}

// node opens node i, on its disk if it had one, at a new port.
func (g *agreements) node(i int) *Agreement {
	g.t.Helper()
	if g.dirs[i] == "" {
		g.dirs[i] = g.t.TempDir()
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(g.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	g.where[agreedtest.ID(i)] = listener.Addr().String()
	g.mu.Unlock()
	config := Config{
		Dir: g.dirs[i], ID: agreedtest.ID(i), Listener: listener, Advertise: listener.Addr().String(), Key: g.key,
		Address: func(id ring.NodeID) string {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.where[id]
		},
		Logger: slog.New(slog.NewTextHandler(&testLog{t: g.t}, &slog.HandlerOptions{Level: slog.LevelWarn})).With("node", i),
	}
	if g.change != nil {
		g.change(i, &config)
	}
	a, err := Open(config)
	if err != nil {
		g.t.Fatal(err)
	}
	g.open[i] = a
	return a
}

// kill stops node i. To raft that is the same as a kill: nothing is written at the end.
func (g *agreements) kill(i int) {
	g.t.Helper()
	g.t.Logf("injected: node %d is stopped", i)
	if err := g.open[i].Stop(); err != nil {
		g.t.Fatal(err)
	}
	delete(g.open, i)
}

// founded are n nodes that run, founded by the first, all voters.
func (g *agreements) founded(n int) *Agreement {
	g.t.Helper()
	c := agreedtest.Found(n)
	var servers []Server
	for i := 1; i <= n; i++ {
		a := g.node(i)
		servers = append(servers, Server{ID: agreedtest.ID(i), Address: a.config.Advertise, Voter: true})
		c.Found.Nodes[i-1].Raft = a.config.Advertise
	}
	if err := g.open[1].Bootstrap(servers); err != nil {
		g.t.Fatal(err)
	}
	for _, a := range g.open {
		if err := a.Start(); err != nil {
			g.t.Fatal(err)
		}
	}
	g.propose(c)
	return g.leader()
}

// leader waits for the leader among the open nodes.
func (g *agreements) leader() *Agreement {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.ctx)
	found := make(chan *Agreement, len(g.open))
	var waiting sync.WaitGroup
	for _, a := range g.open {
		waiting.Go(func() {
			for {
				leading, changed := a.Leading()
				if leading {
					found <- a
					return
				}
				select {
				case <-changed:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	defer waiting.Wait()
	defer cancel()
	select {
	case a := <-found:
		return a
	case <-ctx.Done():
		g.t.Fatal("nobody leads")
		return nil
	}
}

// propose has whoever leads apply a command, again if the leader changes.
func (g *agreements) propose(c agreed.Command) {
	g.t.Helper()
	for unknown := false; ; {
		err := g.leader().Propose(g.ctx, c)
		switch {
		case err == nil:
			return
		case errors.Is(err, agreed.ErrNotLeader), errors.Is(err, agreed.ErrUnknownOutcome):
			g.t.Logf("proposing again: %v", err)
			unknown = unknown || errors.Is(err, agreed.ErrUnknownOutcome)
		case unknown && g.ctx.Err() == nil && refusesTwice(err):
			g.t.Logf("it was applied the first time, and is refused the second: %v", err)
			return
		default:
			g.t.Fatalf("%s: %v", agreedtest.JSON(g.t, c), err)
		}
		if err := g.ctx.Err(); err != nil {
			g.t.Fatal(err)
		}
	}
}

// refusesTwice says whether a command may be refused so because it was applied before.
func refusesTwice(err error) bool {
	return slices.ContainsFunc([]error{agreed.ErrFounded, agreed.ErrStale, agreed.ErrUnknownNode, agreed.ErrRemoved, agreed.ErrMarkNotHigher}, func(one error) bool { return errors.Is(err, one) })
}

// until waits for a state of a.
func (g *agreements) until(a *Agreement, what string, holds func(*agreed.State) bool) *agreed.State {
	g.t.Helper()
	for {
		changed := a.Changed()
		if s := a.State(); holds(s) {
			return s
		}
		select {
		case <-changed:
		case <-g.ctx.Done():
			g.t.Fatalf("%s is not to be seen: %s", what, agreedtest.JSON(g.t, a.State()))
		}
	}
}

// everywhere waits until all open nodes have applied what the leader has.
func (g *agreements) everywhere() *agreed.State {
	g.t.Helper()
	want := g.leader().State()
	for _, a := range g.open {
		got := g.until(a, fmt.Sprintf("version %d", want.Version), func(s *agreed.State) bool { return s.Version >= want.Version })
		if got.Version == want.Version && agreedtest.JSON(g.t, got) != agreedtest.JSON(g.t, want) {
			g.t.Errorf("the nodes differ: %s\n%s", agreedtest.JSON(g.t, got), agreedtest.JSON(g.t, want))
		}
	}
	return want
}

// settle has the leader change raft's servers until nothing is to be done: whichever node leads, for that may change meanwhile.
func (g *agreements) settle(alive func(ring.NodeID) bool) {
	g.t.Helper()
	missed := absences{alive: alive, since: map[ring.NodeID]time.Time{}, throttle: lograte.NewThrottle()}
	for {
		leader := g.leader()
		for leader.changeServers(g.ctx, &missed) {
			g.pause()
		}
		view := liveness{self: leader.config.ID, alive: missed.alive, missing: missed.missing}
		if _, due := nextServerChange(leader.Servers(), leader.State().Nodes, view); !due {
			return
		}
		g.pause()
	}
}

// pause waits for a moment before something is tried again, and ends the test once its time is over.
func (g *agreements) pause() {
	g.t.Helper()
	select {
	case <-time.After(time.Millisecond):
	case <-g.ctx.Done():
		g.t.Fatal(g.ctx.Err())
	}
}

// followed says whether the other nodes follow the leader and propose nothing.
func (g *agreements) followed(leader *Agreement) bool {
	g.t.Helper()
	for i, a := range g.open {
		if a == leader {
			continue
		}
		err := a.Propose(g.ctx, raise(i, 101))
		if id, self, known := a.Leader(); !errors.Is(err, agreed.ErrNotLeader) || id != leader.config.ID || self || !known {
			g.t.Logf("node %d follows %s (%v, %v), and %s leads; it proposes: %v", i, id, self, known, leader.config.ID, err)
			return false
		}
	}
	return true
}

// joined proposes that node i is a member and returns it, running.
func (g *agreements) joined(i int) *Agreement {
	g.t.Helper()
	a := g.node(i)
	if err := a.Start(); err != nil {
		g.t.Fatal(err)
	}
	n := agreedtest.Node(i)
	n.Raft = a.config.Advertise
	g.propose(agreed.Command{Join: &agreed.Join{Node: n}})
	return a
}

// all says that everybody is alive.
func all(ring.NodeID) bool { return true }

// raise is a mark of node i.
func raise(i int, minute int64) agreed.Command {
	return agreed.Command{Mark: &agreed.RaiseMark{ID: agreedtest.ID(i), Mark: agreed.Mark{Boot: 1, Minute: minute}, Process: agreedtest.Node(i).Process}}
}

// voters are who votes as a knows it.
func votersOf(a *Agreement) (ids []ring.NodeID) {
	for _, s := range a.Servers() {
		if s.Voter {
			ids = append(ids, s.ID)
		}
	}
	slices.SortFunc(ids, ring.NodeID.Compare)
	return ids
}

// testLog shows what is logged with the test.
type testLog struct{ t *testing.T }

func (l *testLog) Write(line []byte) (int, error) {
	l.t.Log(string(bytes.TrimSpace(line)))
	return len(line), nil
}

// testKey is a cluster key.
func testKey(t *testing.T, secret string) *key.Key {
	t.Helper()
	k, err := key.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A founder that is killed while raft writes its first configuration, after the term and before the log, founds its cluster when it is
// started again.
func TestBootstrapCutShort(t *testing.T) {
	g := newAgreements(t, nil)
	if err := g.node(1).disk.stable.SetUint64([]byte(termKey), 1); err != nil {
		t.Fatal(err)
	}
	g.kill(1)
	g.founded(1)
	g.propose(raise(1, 200))
}

func TestAgreementAlone(t *testing.T) {
	g := newAgreements(t, nil)
	a := g.node(1)
	if s, servers := a.State(), a.Servers(); s.Founded() || len(servers) != 0 {
		t.Errorf("an empty disk holds %s and %v", agreedtest.JSON(t, s), servers)
	}
	if err := a.Propose(g.ctx, agreedtest.Found(1)); !errors.Is(err, agreed.ErrNotLeader) {
		t.Errorf("proposed before raft runs: %v", err)
	}
	g.kill(1)
	a = g.founded(1)
	if id, self, known := a.Leader(); id != agreedtest.ID(1) || !self || !known {
		t.Errorf("the leader is %s (%v, %v)", id, self, known)
	}
	if err := a.Bootstrap([]Server{{ID: agreedtest.ID(1), Address: "x:1", Voter: true}}); err == nil {
		t.Error("founded twice")
	}
	g.propose(raise(1, 200))
	if err := a.Propose(g.ctx, raise(1, 150)); !errors.Is(err, agreed.ErrMarkNotHigher) {
		t.Errorf("a lower mark: %v", err)
	}
	g.kill(1)
	if err := a.Propose(g.ctx, raise(1, 300)); !errors.Is(err, agreed.ErrNotLeader) {
		t.Errorf("proposed to what is stopped: %v", err)
	}
	if err := a.Start(); err == nil {
		t.Error("started after stop")
	}
	// From the disk alone: what is in the log is not known to be agreed on, but its marks are.
	a = g.node(1)
	if s := a.State(); s.Founded() {
		t.Errorf("the log was taken for agreed: %s", agreedtest.JSON(t, s))
	}
	if m, ok := a.HighestMark(agreedtest.ID(1)); !ok || m != (agreed.Mark{Boot: 1, Minute: 200}) {
		t.Errorf("the highest mark is %s (%v)", m, ok)
	}
	if got := votersOf(a); !slices.Equal(got, agreedtest.IDs(1)) {
		t.Errorf("%v vote", got)
	}
	if err := a.Bootstrap([]Server{{ID: agreedtest.ID(1), Address: "x:1", Voter: true}}); err == nil {
		t.Error("founded twice")
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	g.until(a, "the mark", func(s *agreed.State) bool { return s.Nodes[agreedtest.ID(1)].Mark == agreed.Mark{Boot: 1, Minute: 200} })
}

func TestThreeAgree(t *testing.T) {
	for name, k := range map[string]*key.Key{"plain": nil, "with a key": testKey(t, "a secret of a good length")} {
		t.Run(name, func(t *testing.T) {
			g := newAgreements(t, k)
			g.founded(3)
			g.everywhere()
			leader := g.leader()
			for !g.followed(leader) { // another one may have begun to lead
				g.pause()
				leader = g.leader()
			}
			first := int(leader.config.ID[15])
			g.kill(first)
			second := g.leader()
			g.propose(raise(first, 333))
			g.kill(int(second.config.ID[15]))
			for _, i := range []int{first, int(second.config.ID[15])} {
				a := g.node(i) // at another port: the addresses that raft has are wrong
				if err := a.Start(); err != nil {
					t.Fatal(err)
				}
			}
			g.propose(raise(first, 334))
			g.everywhere()
			for i, a := range g.open {
				if m, ok := a.HighestMark(agreedtest.ID(first)); !ok || m != (agreed.Mark{Boot: 1, Minute: 334}) {
					t.Errorf("node %d knows the mark %s", i, m)
				}
			}
		})
	}
}

func TestWithoutAMajorityNothingIsAgreed(t *testing.T) {
	g := newAgreements(t, nil)
	leader := g.founded(3)
	g.everywhere()
	for i, a := range maps.Clone(g.open) {
		if a != leader {
			g.kill(i)
		}
	}
	self := int(leader.config.ID[15])
	err := leader.Propose(g.ctx, raise(self, 500))
	t.Logf("without a majority: %v", err)
	if !errors.Is(err, agreed.ErrUnknownOutcome) && !errors.Is(err, agreed.ErrNotLeader) {
		t.Errorf("proposed without a majority: %v", err)
	}
	if s := leader.State(); s.Nodes[agreedtest.ID(self)].Mark.Minute == 500 {
		t.Error("agreed on without a majority")
	}
	for {
		leading, changed := leader.Leading()
		if !leading {
			break
		}
		select {
		case <-changed:
		case <-g.ctx.Done():
			t.Fatal("it still leads")
		}
	}
	expired, cancel := context.WithCancel(g.ctx)
	cancel()
	if err := leader.Propose(expired, raise(self, 501)); err == nil {
		t.Error("proposed with a context that has ended")
	}
}

func TestServersFollowTheRegistry(t *testing.T) {
	g := newAgreements(t, testKey(t, "a secret of a good length"))
	leader := g.founded(1)
	second, third := g.joined(2), g.joined(3)
	g.settle(all)
	if got := votersOf(g.leader()); !slices.Equal(got, agreedtest.IDs(1, 2, 3)) {
		t.Errorf("%v vote", got)
	}
	g.everywhere()
	fourth := g.joined(4)
	g.settle(all)
	g.until(fourth, "the fourth node", func(s *agreed.State) bool { return len(s.Nodes) == 4 })
	if got := votersOf(fourth); !slices.Equal(got, agreedtest.IDs(1, 2, 3)) {
		t.Errorf("%v vote", got)
	}
	// The leader leaves: it hands over, and another one drops it.
	g.propose(agreed.Command{SetTarget: &agreed.SetTarget{Changes: []agreed.Change{{Partition: 0, Epoch: 1, Replicas: agreedtest.IDs(2)}, {Partition: 1, Epoch: 1, Replicas: agreedtest.IDs(2)}, {Partition: 2, Epoch: 1, Replicas: agreedtest.IDs(2)}, {Partition: 3, Epoch: 1, Replicas: agreedtest.IDs(2)}}}})
	next := []agreed.Change{{Partition: 0, Epoch: 1, Replicas: agreedtest.IDs(2)}, {Partition: 1, Epoch: 1, Replicas: agreedtest.IDs(2)}, {Partition: 2, Epoch: 1, Replicas: agreedtest.IDs(2)}, {Partition: 3, Epoch: 1, Replicas: agreedtest.IDs(2)}}
	g.propose(agreed.Command{SetNext: &agreed.SetNext{Changes: next}})
	g.propose(agreed.Command{Commit: &agreed.Commit{Changes: next}})
	g.propose(agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(1)}})
	g.until(leader, "its own removal", func(s *agreed.State) bool { _, gone := s.Removed[agreedtest.ID(1)]; return gone })
	g.settle(all)
	g.kill(1)
	g.settle(all)
	if got := votersOf(g.leader()); !slices.Equal(got, agreedtest.IDs(2, 3, 4)) {
		t.Errorf("%v vote", got)
	}
	g.propose(raise(2, 700))
	g.everywhere()
	for _, a := range []*Agreement{second, third, fourth} {
		if m, _ := a.HighestMark(agreedtest.ID(2)); m != (agreed.Mark{Boot: 1, Minute: 700}) {
			t.Errorf("%s knows the mark %s", a.config.ID, m)
		}
	}
}

func TestKeepVotersAddsWhoJoins(t *testing.T) {
	g := newAgreements(t, nil)
	leader := g.founded(1)
	ctx, cancel := context.WithCancel(g.ctx)
	var kept sync.WaitGroup
	kept.Go(func() { leader.KeepVoters(ctx, all) })
	a := g.joined(2)
	g.until(a, "the second node", func(s *agreed.State) bool { return len(s.Nodes) == 2 })
	cancel()
	kept.Wait()
}

func TestSnapshotsCarryTheState(t *testing.T) {
	g := newAgreements(t, nil)
	leader := g.founded(1)
	for i := range snapshotThreshold + trailingLogs {
		g.propose(raise(1, int64(1000+i)))
	}
	if err := leader.running.Load().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if first, err := leader.disk.logs.FirstIndex(); err != nil || first <= 1 {
		t.Fatalf("the log still begins at entry %d (%v)", first, err)
	}
	want := leader.State()
	// A node that comes new is sent the snapshot.
	second := g.joined(2)
	g.settle(all)
	g.everywhere()
	if m, ok := second.HighestMark(agreedtest.ID(1)); !ok || m != want.Nodes[agreedtest.ID(1)].Mark {
		t.Errorf("the mark in the snapshot is not known: %s", m)
	}
	g.kill(1)
	again := g.node(1)
	if s := again.State(); agreedtest.JSON(t, s) != agreedtest.JSON(t, want) {
		t.Errorf("the snapshot holds %s, want %s", agreedtest.JSON(t, s), agreedtest.JSON(t, want))
	}
	if got := again.Servers(); len(got) != 2 {
		t.Errorf("the newest configuration on the disk is %v", got)
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	g.until(again, "the second node", func(s *agreed.State) bool { return len(s.Nodes) == 2 })
}

func TestRecoverFromOneOfThree(t *testing.T) {
	g := newAgreements(t, testKey(t, "a secret of a good length"))
	g.founded(3)
	g.propose(raise(3, 400))
	g.everywhere()
	for i := 1; i <= 3; i++ {
		g.kill(i)
	}
	survivor := g.node(1)
	if err := survivor.Start(); err != nil {
		t.Fatal(err)
	}
	known, err := survivor.Supposed()
	if err != nil {
		t.Fatal(err)
	}
	if known.State.Nodes[agreedtest.ID(3)].Mark.Minute != 400 || len(known.Servers) != 3 {
		t.Errorf("what was agreed on is lost: %s, by %v", agreedtest.JSON(t, known.State), known.Servers)
	}
	var places []agreed.Change
	for p := range known.State.Table.Places {
		places = append(places, agreed.Change{Partition: ring.Partition(p), Epoch: 5, Replicas: agreedtest.IDs(1)})
	}
	earlier := LogEnd{Term: known.End.Term, Index: known.End.Index - 1}
	if err := survivor.RecoverAlone(g.ctx, earlier, &agreed.Command{}); !errors.Is(err, agreed.ErrStale) {
		t.Errorf("a recovery of what the log was before: %v", err)
	}
	if err := survivor.RecoverAlone(g.ctx, known.End, &agreed.Command{Recover: &agreed.Recover{Lost: agreedtest.IDs(9), Places: places, Raft: true}}); !errors.Is(err, agreed.ErrUnknownNode) {
		t.Errorf("a recovery that makes no sense: %v", err)
	}
	if again, err := survivor.Supposed(); err != nil || len(again.Servers) != 3 || again.State.Version != known.State.Version {
		t.Errorf("it has changed something: %+v, %v", again, err)
	}
	what := &agreed.Recover{Lost: agreedtest.IDs(3), Places: places, Raft: true}
	if err := survivor.RecoverAlone(g.ctx, known.End, &agreed.Command{Recover: what}); err != nil {
		t.Fatal(err)
	}
	// Whenever the node leads, the recovery is agreed: also if nothing more was written.
	g.kill(1)
	survivor = g.node(1)
	if s, servers := survivor.State(), survivor.Servers(); len(servers) != 1 || !what.Done(s) || s.Version != ring.Recovered(known.State.Version) {
		t.Errorf("with the servers %v, the recovery is not agreed: %s", servers, agreedtest.JSON(t, s))
	}
	if err := survivor.Start(); err != nil {
		t.Fatal(err)
	}

	// The other survivor, whose disk is of the old cluster.
	other := g.node(2)
	if m, ok := other.HighestMark(agreedtest.ID(3)); !ok || m != (agreed.Mark{Boot: 1, Minute: 400}) {
		t.Errorf("before the reset the mark is %s", m)
	}
	theirs, err := other.Supposed()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Reset(LogEnd{Term: theirs.End.Term, Index: theirs.End.Index - 1}, nil); !errors.Is(err, agreed.ErrStale) {
		t.Errorf("a log is thrown away for a shorter one: %v", err)
	}
	if err := other.Reset(known.End, agreedtest.IDs(3)); err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if s, servers := other.State(), other.Servers(); s.Founded() || len(servers) != 0 {
		t.Errorf("after the reset there are %s and %v", agreedtest.JSON(t, s), servers)
	}
	if m, ok := other.HighestMark(agreedtest.ID(3)); !ok || m != (agreed.Mark{Boot: 1, Minute: 400}) {
		t.Errorf("the reset has forgotten the mark: %s", m)
	}
	g.settle(all)
	s := g.everywhere()
	if !s.Table.Places[0].Floored || s.Table.Places[0].Epoch != 5 || s.Removed[agreedtest.ID(3)] != "c" {
		t.Errorf("recovered as %s", agreedtest.JSON(t, s))
	}
	if got := len(survivor.Servers()); got != 2 {
		t.Errorf("there are %d servers", got)
	}
}

// What a lost leader has sent arrives while raft is stopped for the recovery, or long after it, and undoes nothing: it had led in a later term, of
// which the survivor has not heard.
func TestLateCallsOfALostLeader(t *testing.T) {
	entries := func(old Supposition, lost *Agreement) (taken bool, err error) {
		var said raft.AppendEntriesResponse
		end, term := old.End, old.End.Term+10
		err = lost.transport.Transport.AppendEntries(serverID(agreedtest.ID(1)), "", &raft.AppendEntriesRequest{
			RPCHeader: headerOf(lost), Term: term, PrevLogEntry: end.Index, PrevLogTerm: end.Term, LeaderCommitIndex: end.Index + 2,
			Entries: []*raft.Log{
				{Index: end.Index + 1, Term: term, Type: raft.LogNoop},
				{Index: end.Index + 2, Term: term, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(configurationOf(old.Servers))},
			},
		}, &said)
		return said.Success, err
	}
	for name, test := range map[string]struct {
		during bool
		send   func(old Supposition, lost *Agreement) (taken bool, err error)
	}{
		"entries, while raft is stopped": {true, entries},
		"entries, afterwards":            {false, entries},
		"a snapshot, afterwards": {false, func(old Supposition, lost *Agreement) (taken bool, err error) {
			var said raft.InstallSnapshotResponse
			text := agreedtest.JSON(t, old.State)
			err = lost.transport.Transport.InstallSnapshot(serverID(agreedtest.ID(1)), "", &raft.InstallSnapshotRequest{
				RPCHeader: headerOf(lost), SnapshotVersion: 1, Term: old.End.Term + 10, LastLogIndex: old.End.Index + 300, LastLogTerm: old.End.Term + 10,
				Configuration: raft.EncodeConfiguration(configurationOf(old.Servers)), ConfigurationIndex: 1, Size: int64(len(text)),
			}, &said, strings.NewReader(text))
			return said.Success, err
		}},
		"a heartbeat, afterwards": {false, func(old Supposition, lost *Agreement) (taken bool, err error) {
			var said raft.AppendEntriesResponse
			err = lost.transport.Transport.AppendEntries(serverID(agreedtest.ID(1)), "", &raft.AppendEntriesRequest{
				RPCHeader: headerOf(lost), Term: old.End.Term + 10,
			}, &said)
			return said.Success, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newAgreements(t, testKey(t, "a secret of a good length"))
			survivor := g.founded(3)
			g.propose(raise(3, 400))
			g.everywhere()
			g.kill(2)
			g.kill(3)
			lost := g.node(2) // its raft does not run, and it can send
			lost.mu.Lock()
			lost.connectLocked()
			lost.mu.Unlock()
			old, err := survivor.Supposed()
			if err != nil {
				t.Fatal(err)
			}
			places := make([]agreed.Change, len(old.State.Table.Places))
			for p := range places {
				places[p] = agreed.Change{Partition: ring.Partition(p), Epoch: ring.Recovered(1), Replicas: agreedtest.IDs(1)}
			}
			if test.during {
				if err := survivor.Suspend(); err != nil {
					t.Fatal(err)
				}
				if _, err := test.send(old, lost); err == nil || !strings.Contains(err.Error(), errNotRunning.Error()) {
					t.Fatalf("it is taken, or kept for later, by a node whose raft does not run: %v", err)
				}
			}
			if err := survivor.RecoverAlone(g.ctx, old.End, &agreed.Command{Recover: &agreed.Recover{Lost: agreedtest.IDs(2, 3), Places: places, Raft: true}}); err != nil {
				t.Fatal(err)
			}
			if taken, err := test.send(old, lost); taken || err == nil || !strings.Contains(err.Error(), errRemoved.Error()) {
				t.Fatalf("the recovered node takes it, %v, or answers otherwise: %v", taken, err)
			}
			g.kill(2)
			g.propose(raise(1, 500))
			own, err := survivor.Supposed()
			if err != nil || len(own.Servers) != 1 || len(own.State.Removed) != 2 || own.State.Nodes[agreedtest.ID(1)].Mark.Minute != 500 {
				t.Errorf("the disk of the recovered node has %+v, %v", own, err)
			}
		})
	}
}

// A node that was reset for a recovery and is not let in yet takes nothing that a lost leader has sent: its log would look like that of the recovered node.
func TestLateCallsAtAResetNode(t *testing.T) {
	for name, send := range map[string]func(known Supposition, lost *Agreement) (taken bool, err error){
		"a snapshot": func(known Supposition, lost *Agreement) (bool, error) {
			var said raft.InstallSnapshotResponse
			text := agreedtest.JSON(t, known.State)
			err := lost.transport.Transport.InstallSnapshot(serverID(agreedtest.ID(2)), "", &raft.InstallSnapshotRequest{
				RPCHeader: headerOf(lost), SnapshotVersion: 1, Term: known.End.Term, LastLogIndex: known.End.Index, LastLogTerm: known.End.Term,
				Configuration: raft.EncodeConfiguration(configurationOf(known.Servers)), ConfigurationIndex: 1, Size: int64(len(text)),
			}, &said, strings.NewReader(text))
			return said.Success, err
		},
		"all entries": func(known Supposition, lost *Agreement) (bool, error) {
			var entries []*raft.Log
			for i := uint64(1); i <= known.End.Index; i++ {
				var entry raft.Log
				if err := lost.Log().GetLog(i, &entry); err != nil {
					return false, err
				}
				entries = append(entries, &entry)
			}
			var said raft.AppendEntriesResponse
			err := lost.transport.Transport.AppendEntries(serverID(agreedtest.ID(2)), "", &raft.AppendEntriesRequest{
				RPCHeader: headerOf(lost), Term: known.End.Term, Entries: entries, LeaderCommitIndex: known.End.Index,
			}, &said)
			return said.Success, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newAgreements(t, nil)
			g.founded(3)
			g.propose(raise(3, 400))
			g.everywhere()
			for i := 1; i <= 3; i++ {
				g.kill(i)
			}
			survivor, other, lost := g.node(1), g.node(2), g.node(3)
			lost.mu.Lock()
			lost.connectLocked()
			lost.mu.Unlock()
			known, err := survivor.Supposed()
			if err != nil {
				t.Fatal(err)
			}
			for _, named := range [][]ring.NodeID{agreedtest.IDs(3), nil} { // by a second recovery, of others
				if err := other.Reset(known.End, named); err != nil {
					t.Fatal(err)
				}
			}
			for _, again := range []bool{false, true} {
				if again { // it has not forgotten who is lost
					g.kill(2)
					other = g.node(2)
				}
				if err := other.Start(); err != nil {
					t.Fatal(err)
				}
				if taken, err := send(known, lost); taken || err == nil || !strings.Contains(err.Error(), errRemoved.Error()) {
					t.Fatalf("started again %v, the reset node takes it, %v, or answers otherwise: %v", again, taken, err)
				}
			}
			g.kill(3)
			places := make([]agreed.Change, len(known.State.Table.Places))
			for p := range places {
				places[p] = agreed.Change{Partition: ring.Partition(p), Epoch: ring.Recovered(1), Replicas: agreedtest.IDs(1)}
			}
			if err := survivor.RecoverAlone(g.ctx, known.End, &agreed.Command{Recover: &agreed.Recover{Lost: agreedtest.IDs(3), Places: places, Raft: true}}); err != nil {
				t.Fatal(err)
			}
			g.settle(all)
			g.propose(raise(1, 500))
			if s := g.everywhere(); len(s.Removed) != 1 || s.Version <= ring.Recovered(known.State.Version) {
				t.Errorf("recovered as %s", agreedtest.JSON(t, s))
			}
		})
	}
}

// headerOf is what raft's calls of a node begin with.
func headerOf(a *Agreement) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(serverID(a.config.ID)), Addr: []byte(a.config.Advertise)}
}

// Who is removed by a log may live and know more, voter or not, unless raft has let go of the node since: its leader does so once that is agreed.
func TestSupposedTellsOfRemovals(t *testing.T) {
	g := newAgreements(t, nil)
	a := g.founded(3)
	g.everywhere()
	if err := a.Suspend(); err != nil {
		t.Fatal(err)
	}
	write := func(kind raft.LogType, data []byte) {
		last, err := a.Log().LastIndex()
		if err == nil {
			err = a.Log().StoreLog(&raft.Log{Index: last + 1, Term: 1 << 20, Type: kind, Data: data})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	says := func(what string, want ...ring.NodeID) {
		t.Helper()
		own, err := a.Supposed()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.SortedFunc(maps.Keys(own.Removed), ring.NodeID.Compare); !slices.Equal(got, want) {
			t.Errorf("%s: %v may not be removed, want %v", what, got, want)
		}
	}
	servers := a.Servers()
	servers[2].Voter = false
	write(raft.LogConfiguration, raft.EncodeConfiguration(configurationOf(servers)))
	says("nobody is removed")
	write(raft.LogCommand, []byte(agreedtest.JSON(t, agreed.Command{Remove: &agreed.Remove{ID: agreedtest.ID(3), Force: true}})))
	says("one that does not vote is", agreedtest.ID(3))
	write(raft.LogConfiguration, raft.EncodeConfiguration(configurationOf(servers[1:])))
	says("raft has let go of another one", agreedtest.ID(3))
	write(raft.LogConfiguration, raft.EncodeConfiguration(configurationOf(servers[1:2])))
	says("raft has let go of it")
}

func TestRecoverNeedsSomethingToRecover(t *testing.T) {
	g := newAgreements(t, nil)
	a := g.node(1)
	if err := a.RecoverAlone(g.ctx, LogEnd{}, &agreed.Command{Recover: &agreed.Recover{}}); err == nil {
		t.Error("an empty disk was recovered")
	} else {
		t.Log(err)
	}
	g.kill(1)
	if err := a.RecoverAlone(g.ctx, LogEnd{}, &agreed.Command{Recover: &agreed.Recover{}}); err == nil {
		t.Error("a closed one was recovered")
	}
	if err := a.Reset(LogEnd{Term: 1 << 60}, nil); err == nil {
		t.Error("a closed one was reset")
	}
}

func TestResetWhileRaftRuns(t *testing.T) {
	g := newAgreements(t, nil)
	a := g.founded(1)
	changed := a.Changed()
	if err := a.Reset(LogEnd{Term: 1 << 60}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told")
	}
	if leading, _ := a.Leading(); leading || a.State().Founded() || a.running.Load() == nil {
		t.Error("it leads, knows a cluster, or does not run")
	}
	g.kill(1)
	a = g.node(1) // what was kept outlives a restart
	if m, ok := a.HighestMark(agreedtest.ID(1)); !ok || m != (agreed.Mark{Boot: 1, Minute: 100}) {
		t.Errorf("the mark is %s (%v)", m, ok)
	}
	if term, err := a.disk.stable.GetUint64([]byte(termKey)); err != nil || term < 2 {
		t.Errorf("the term is %d (%v)", term, err)
	}
	if vote, err := a.disk.stable.Get([]byte(voteKey)); err != nil || len(vote) == 0 {
		t.Errorf("the vote is %q (%v)", vote, err)
	}
}

// A reset that a crash interrupts has not happened, or goes on.
func TestResetInterrupted(t *testing.T) {
	g := newAgreements(t, nil)
	a := g.founded(1)
	g.propose(raise(1, 250))
	k, err := a.disk.preserve(a.marks)
	if err != nil {
		t.Fatal(err)
	}
	g.kill(1)
	t.Log("injected: a crash after the marks were kept")
	if err := k.write(folder.Of(nil, g.dirs[1])); err != nil {
		t.Fatal(err)
	}
	a = g.node(1)
	if got := len(a.Servers()); got != 1 {
		t.Errorf("%d servers are left", got)
	}
	g.kill(1)
	t.Log("injected: a crash after the log was taken away")
	if err := dropRaft(folder.Of(nil, g.dirs[1]), k); err != nil {
		t.Fatal(err)
	}
	a = g.node(1)
	if got := len(a.Servers()); got != 0 {
		t.Errorf("%d servers are left", got)
	}
	if m, ok := a.HighestMark(agreedtest.ID(1)); !ok || m != (agreed.Mark{Boot: 1, Minute: 250}) {
		t.Errorf("the mark is %s (%v)", m, ok)
	}
	if term, err := a.disk.stable.GetUint64([]byte(termKey)); err != nil || term != k.Term {
		t.Errorf("the term is %d, want %d (%v)", term, k.Term, err)
	}
}

func TestOneDirectoryHasOneProcess(t *testing.T) {
	g := newAgreements(t, nil)
	g.node(1)
	if _, err := Open(Config{Dir: g.dirs[1], ID: agreedtest.ID(1)}); err == nil {
		t.Error("opened twice")
	} else {
		t.Log(err)
	}
}

func TestWhileLeading(t *testing.T) {
	g := newAgreements(t, nil)
	g.founded(3)
	ctx, cancel := context.WithCancel(g.ctx)
	const terms = 1000 // more than there are
	began, ended := make(chan *Agreement, terms), make(chan *Agreement, terms)
	var following sync.WaitGroup
	for _, a := range g.open {
		following.Go(func() {
			a.WhileLeading(ctx, func(ctx context.Context) {
				began <- a
				<-ctx.Done()
				ended <- a
			})
		})
	}
	next := func(what string, of chan *Agreement) *Agreement {
		select {
		case a := <-of:
			return a
		case <-g.ctx.Done():
			t.Fatalf("no node has %s to lead", what)
			return nil
		}
	}
	leader := next("begun", began)
	for leading := true; leading; leading, _ = leader.Leading() { // it may have lost the leadership by itself
		if err := leader.handOver(g.ctx); err == nil {
			break
		}
		g.pause()
	}
	for a := next("ceased", ended); a != leader; a = next("ceased", ended) {
		t.Logf("%s has led in between", a.config.ID)
	}
	next("begun", began)
	cancel()
	following.Wait()
}

func TestStrangersAreNotHeard(t *testing.T) {
	g := newAgreements(t, testKey(t, "a secret of a good length"))
	a := g.founded(1)
	// One with another key notices it too.
	s := newStream(Config{Key: testKey(t, "another secret of a good length")})
	if conn, err := s.Dial(calling(agreedtest.ID(1), a.config.Advertise), patienceOfTests); err == nil {
		t.Error("another key is taken", conn.Close())
	} else {
		t.Log(err)
	}
	// Others do not care whom they talk to.
	for name, config := range map[string]*tls.Config{
		"no key":        nil,
		"no credential": {InsecureSkipVerify: true, NextProtos: []string{raftProto}, MinVersion: tls.VersionTLS13},
	} {
		var dialer net.Dialer
		conn, err := dialer.DialContext(g.ctx, "tcp", a.config.Advertise)
		if err != nil {
			t.Fatal(err)
		}
		deadline, _ := g.ctx.Deadline()
		if err := conn.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		if config != nil {
			conn = tls.Client(conn, config)
		}
		_, _ = conn.Write([]byte("let me in, whoever you are"))
		answer, err := io.ReadAll(conn) // a TLS alert, at most, and the end
		t.Logf("%s: %q, %v, %v", name, answer, err, conn.Close())
		var timeout net.Error
		if len(answer) > 16 || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s is not turned away", name)
		}
	}
}

// TestVotesInAnothersPlace loses the disk of one voter while another one is behind: whoever is at the lost one's address has
// forgotten what it had stored, and must not vote in its place, or what two of three have agreed on is lost.
func TestVotesInAnothersPlace(t *testing.T) {
	g := newAgreements(t, testKey(t, "a secret of a good length"))
	g.founded(3)
	g.settle(all)
	g.kill(2)
	g.propose(raise(1, 777)) // 1 and 3 agree
	g.until(g.open[3], "the mark", func(s *agreed.State) bool { return s.Nodes[agreedtest.ID(1)].Mark.Minute == 777 })
	g.kill(1)
	g.kill(3)
	instead := g.node(4) // an empty disk
	if err := instead.Start(); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.where[agreedtest.ID(3)] = instead.config.Advertise
	g.mu.Unlock()
	behind := g.node(2)
	if err := behind.Start(); err != nil {
		t.Fatal(err)
	}
	asked := time.NewTimer(5 * time.Second) // some elections
	defer asked.Stop()
	for {
		leading, changed := behind.Leading()
		if leading {
			t.Fatal("it was elected by a server that is not the one that was asked")
		}
		select {
		case <-changed:
			continue
		case <-asked.C:
		}
		break
	}
	if err := g.node(1).Start(); err != nil {
		t.Fatal(err)
	}
	g.until(behind, "what was agreed on", func(s *agreed.State) bool { return s.Nodes[agreedtest.ID(1)].Mark.Minute == 777 })
}
