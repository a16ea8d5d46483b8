package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
)

// entry is a command in raft's log.
func entry(t *testing.T, index uint64, c agreed.Command) *raft.Log {
	t.Helper()
	return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: []byte(agreedtest.JSON(t, c))}
}

// faultyStore fails, before or after it has stored.
type faultyStore struct {
	raft.LogStore
	fail, happened bool
}

var errInjected = errors.New("injected")

func (s *faultyStore) StoreLogs(entries []*raft.Log) error {
	if s.fail && !s.happened {
		return errInjected
	}
	if err := s.LogStore.StoreLogs(entries); err != nil {
		return err
	}
	if s.fail {
		return errInjected
	}
	return nil
}

func TestMarksAreNotedOnceTheyAreStored(t *testing.T) {
	for _, happened := range []bool{false, true} {
		t.Run(fmt.Sprintf("failed but happened: %v", happened), func(t *testing.T) {
			store := &faultyStore{LogStore: raft.NewInmemStore(), happened: happened}
			var failures []error
			l := &logStore{LogStore: store, marks: newMarks(), fail: func(err error) { failures = append(failures, err) }}
			if err := l.StoreLogs([]*raft.Log{entry(t, 1, agreedtest.Found(3)), entry(t, 2, raise(1, 150))}); err != nil {
				t.Fatal(err)
			}
			if m, _ := l.marks.of(agreedtest.ID(1)); m != (agreed.Mark{Boot: 1, Minute: 150}) {
				t.Errorf("the mark is %s", m)
			}
			if m, _ := l.marks.of(agreedtest.ID(3)); m != (agreed.Mark{Boot: 1, Minute: 100}) {
				t.Errorf("a founder's mark is %s", m)
			}
			t.Logf("injected: a write fails, done nevertheless: %v", happened)
			store.fail = true
			if err := l.StoreLog(entry(t, 3, raise(1, 160))); !errors.Is(err, errInjected) {
				t.Errorf("the failure is kept from raft: %v", err)
			}
			if m, _ := l.marks.of(agreedtest.ID(1)); m != (agreed.Mark{Boot: 1, Minute: 150}) {
				t.Errorf("the mark is %s before it is durable", m)
			}
			if len(failures) != 1 || !errors.Is(failures[0], errInjected) {
				t.Errorf("the node was told %v", failures)
			}
			// After a reopen the disk decides.
			want := agreed.Mark{Boot: 1, Minute: 150}
			if happened {
				want = agreed.Mark{Boot: 1, Minute: 160}
			}
			again := &disk{logs: &logStore{LogStore: store, marks: newMarks()}, stable: raft.NewInmemStore(), snapshots: raft.NewInmemSnapshotStore()}
			m := newMarks()
			if _, err := again.read(resetState{}, m); err != nil {
				t.Fatal(err)
			}
			if got, _ := m.of(agreedtest.ID(1)); got != want {
				t.Errorf("after a reopen the mark is %s, want %s", got, want)
			}
		})
	}
}

func TestMarksOfEveryCommandThatCarriesOne(t *testing.T) {
	m := newMarks()
	joiner, heir := agreedtest.Node(4), agreedtest.Node(5)
	joiner.Mark, heir.Mark = agreed.Mark{Boot: 4, Minute: 4}, agreed.Mark{Boot: 5, Minute: 5}
	m.noteEntry(entry(t, 1, agreed.Command{Join: &agreed.Join{Node: joiner}}))
	m.noteEntry(entry(t, 2, agreed.Command{Replace: &agreed.Replace{Old: agreedtest.ID(1), New: heir}}))
	m.noteEntry(entry(t, 3, agreed.Command{Mark: &agreed.RaiseMark{ID: agreedtest.ID(4), Mark: agreed.Mark{Boot: 3, Minute: 9}}})) // lower
	m.noteEntry(entry(t, 4, agreed.Command{Undrain: &agreed.Undrain{ID: agreedtest.ID(6)}}))
	m.noteEntry(&raft.Log{Index: 5, Type: raft.LogCommand, Data: []byte("{")})
	m.noteEntry(&raft.Log{Index: 6, Type: raft.LogNoop})
	if got := m.all(); len(got) != 2 || got[agreedtest.ID(4)] != joiner.Mark || got[agreedtest.ID(5)] != heir.Mark {
		t.Errorf("the marks are %v", got)
	}
}

func TestConfigurationsThatASnapshotCoversAreOld(t *testing.T) {
	logs, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	configuration := func(i int) raft.Configuration {
		return configurationOf([]Server{{ID: agreedtest.ID(i), Address: "x:1", Voter: true}})
	}
	_, transport := raft.NewInmemTransport("")
	sink, err := snapshots.Create(1, 3, 1, configuration(2), 3, transport)
	if err != nil {
		t.Fatal(err)
	}
	if err := (snapshot{&agreed.State{Version: 9}}).Persist(sink); err != nil {
		t.Fatal(err)
	}
	d := &disk{logs: &logStore{LogStore: logs}, stable: logs, snapshots: snapshots}
	for _, step := range []struct {
		index uint64
		node  int
		want  int
	}{{1, 1, 2}, {2, 1, 2}, {3, 1, 2}, {4, 3, 3}} {
		e := &raft.Log{Index: step.index, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(configuration(step.node))}
		if err := logs.StoreLog(e); err != nil {
			t.Fatal(err)
		}
		found, err := d.read(resetState{}, newMarks())
		if err != nil || found.state.Version != 9 {
			t.Fatalf("read version %d: %v", found.state.Version, err)
		}
		if got := string(found.configuration.Servers[0].ID); got != agreedtest.ID(step.want).String() {
			t.Errorf("with entry %d the newest configuration is of %s, want %s", step.index, got, agreedtest.ID(step.want))
		}
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, marksFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: dir, ID: agreedtest.ID(1)}); err == nil || !strings.Contains(err.Error(), marksFile) {
		t.Errorf("opened with damaged marks: %v", err)
	}
	snapshots := raft.NewInmemSnapshotStore()
	_, transport := raft.NewInmemTransport("")
	sink, err := snapshots.Create(1, 3, 1, raft.Configuration{}, 1, transport)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := newestSnapshot(snapshots); err == nil {
		t.Error("a damaged snapshot, the only one, is passed over")
	} else {
		t.Log(err)
	}
}

func TestMachineStopsAtWhatItDoesNotUnderstand(t *testing.T) {
	var failures []error
	m := newMachine(newMarks(), func(err error) { failures = append(failures, err) })
	if refusal := m.Apply(entry(t, 1, agreedtest.Found(1))); refusal != nil {
		t.Fatal(refusal)
	}
	unknown := &raft.Log{Index: 2, Type: raft.LogCommand, Data: []byte(`{"fly":{}}`)}
	if err, ok := m.Apply(unknown).(error); !ok || !strings.Contains(err.Error(), "newer release") {
		t.Errorf("applied: %v", err)
	}
	if err, ok := m.Apply(entry(t, 3, raise(1, 200))).(error); !ok || m.published.Load().state.Version != 1 {
		t.Errorf("went on after it: %v", err)
	}
	if _, err := m.Snapshot(); err == nil {
		t.Error("a snapshot was taken after it")
	}
	if len(failures) != 1 {
		t.Errorf("the node was told %v", failures)
	}
	t.Log(failures)
}

func TestMachineNeverShowsAnOlderState(t *testing.T) {
	m := newMachine(newMarks(), func(err error) { t.Error(err) })
	for i, c := range []agreed.Command{agreedtest.Found(1), raise(1, 200), raise(1, 201)} {
		if refusal := m.Apply(entry(t, uint64(i+1), c)); refusal != nil {
			t.Fatal(refusal)
		}
	}
	newest := m.published.Load()
	if refusal, ok := m.Apply(entry(t, 4, raise(1, 100))).(error); !ok || !errors.Is(refusal, agreed.ErrMarkNotHigher) {
		t.Errorf("a lower mark: %v", refusal)
	}
	first := agreedtest.Found(1)
	old, err := first.Apply(&agreed.State{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Restore(io.NopCloser(strings.NewReader(agreedtest.JSON(t, old)))); err != nil {
		t.Fatal(err)
	}
	if m.published.Load() != newest {
		t.Error("a restart showed an older state")
	}
	if refusal := m.Apply(entry(t, 2, raise(1, 200))); refusal != nil {
		t.Errorf("raft's own state is not the snapshot's: %v", refusal)
	}
	m.empty()
	select {
	case <-newest.changed:
	default:
		t.Error("nobody was told")
	}
}

// faultySink fails, before or after it has taken what is written.
type faultySink struct {
	raft.SnapshotSink
	happened bool
	taken    int
	canceled bool
}

func (s *faultySink) Write(p []byte) (int, error) {
	if s.happened {
		s.taken += len(p)
	}
	return 0, errInjected
}

func (s *faultySink) Cancel() error { s.canceled = true; return nil }

func TestSnapshotThatFailsIsCanceled(t *testing.T) {
	for _, happened := range []bool{false, true} {
		t.Logf("injected: writing a snapshot fails, done nevertheless: %v", happened)
		sink := &faultySink{happened: happened}
		if err := (snapshot{&agreed.State{}}).Persist(sink); !errors.Is(err, errInjected) || !sink.canceled || sink.taken > 0 != happened {
			t.Errorf("%v, canceled: %v", err, sink.canceled)
		}
	}
}

func TestSnapshotIsReadable(t *testing.T) {
	c := agreedtest.Found(3)
	s, err := c.Apply(&agreed.State{})
	if err != nil {
		t.Fatal(err)
	}
	var shape struct {
		Nodes  map[string]any
		Limits string
	}
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, s)), &shape); err != nil || shape.Limits != "limits: {}\n" || shape.Nodes[agreedtest.ID(1).String()] == nil {
		t.Errorf("%s (%v)", agreedtest.JSON(t, s), err)
	}
}

func TestRaftLogIsQuiet(t *testing.T) {
	var out strings.Builder
	l := newRaftLog(slog.New(slog.NewTextHandler(&out, nil)))
	l.Info("entering leader state")
	l.Trace("x")
	l.Debug("x")
	l.Warn("failed to get previous log")
	l.Error("failed to heartbeat to", "peer", "a")
	l.Warn("heartbeat timeout reached, starting election")
	l.With("who", "me").Named("x").ResetNamed("y").Error("failed to install snapshot", "peer", "a")
	l.Error("failed to install snapshot", "peer", "a")
	l.Error("failed to install snapshot", "peer", "b")
	got := out.String()
	if strings.Count(got, "\n") != 3 || strings.Count(got, "level=WARN") != 2 || !strings.Contains(got, "who=me") ||
		!strings.Contains(got, "this node is now the leader of the cluster") {
		t.Errorf("logged:\n%s", got)
	}
}

// A node that restarts is no news to raft's log; one that stays away, or a cluster that finds no leader, is told of once.
func TestRaftLogTellsOfWhatLasts(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var out strings.Builder
		l := newRaftLog(slog.New(slog.NewTextHandler(&out, nil)))
		complain := func(long time.Duration) {
			for range int(long / time.Second) {
				l.Error("failed to heartbeat to", "peer", "a:7703")
				l.Error("failed to appendEntries to", "peer", raft.Server{ID: "another", Address: "a:7703"})
				l.Warn("failed to contact", "server-id", "another")
				l.Warn("Election timeout reached, restarting election")
				<-time.After(time.Second)
			}
		}
		complain(lograte.LastsAfter / 2)
		<-time.After(2 * lograte.OverAfter)
		complain(lograte.LastsAfter / 2)
		if out.Len() != 0 {
			t.Errorf("of two short absences is logged:\n%s", out.String())
		}
		complain(10 * lograte.LastsAfter)
		got := out.String()
		if strings.Count(got, "node=a:7703") != 1 || strings.Count(got, "still has no leader") != 1 || strings.Count(got, "\n") != 2 {
			t.Errorf("of a long absence is logged:\n%s", got)
		}
		out.Reset()
		<-time.After(2 * lograte.OverAfter)
		complain(2 * lograte.LastsAfter)
		if got := out.String(); strings.Count(got, "node=a:7703") != 1 {
			t.Errorf("of the next one is logged:\n%s", got)
		}
	})
}
