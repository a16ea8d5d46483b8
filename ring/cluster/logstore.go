package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// marks are the highest marks of nodes in anything that is durable here. They only rise: a mark whose entry raft has
// taken back was on its node's disk before it was proposed, so it is true all the same.
type marks struct {
	mu      sync.Mutex
	highest map[ring.NodeID]agreed.Mark
}

func newMarks() *marks { return &marks{highest: map[ring.NodeID]agreed.Mark{}} }

// of is the highest mark of a node.
func (m *marks) of(id ring.NodeID) (agreed.Mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	highest, ok := m.highest[id]
	return highest, ok
}

// all is a copy of them.
func (m *marks) all() map[ring.NodeID]agreed.Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.highest)
}

// note takes a mark that is durable.
func (m *marks) note(id ring.NodeID, mark agreed.Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if highest, ok := m.highest[id]; !ok || highest.Compare(mark) < 0 {
		m.highest[id] = mark
	}
}

// noteState takes the marks of a durable snapshot.
func (m *marks) noteState(s *agreed.State) {
	for id, n := range s.Nodes {
		m.note(id, n.Mark)
	}
}

// noteEntry takes the marks of a durable entry of the log.
func (m *marks) noteEntry(entry *raft.Log) {
	if entry.Type != raft.LogCommand {
		return
	}
	c, err := agreed.DecodeCommand(entry.Data)
	if err != nil {
		return // applying it reports that
	}
	c.EachMark(m.note)
}

// logStore is raft's log, which notes the marks of what it has stored, and tells of the first write that failed.
type logStore struct {
	raft.LogStore
	marks *marks
	fail  func(error)
}

// StoreLog implements raft.LogStore.
func (l *logStore) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore.
func (l *logStore) StoreLogs(entries []*raft.Log) error {
	if err := l.LogStore.StoreLogs(entries); err != nil {
		err = fmt.Errorf("writing the raft log: %w", err)
		l.fail(err)
		return err
	}
	for _, entry := range entries {
		l.marks.noteEntry(entry)
	}
	return nil
}

// A voteStore is raft's term and vote while raft runs. Raft panics when it cannot write its term; here the node fails, and
// raft's goroutine ends, as if it had stopped just before: it has answered nobody.
type voteStore struct {
	raft.StableStore
	fail func(error)
}

// Set implements raft.StableStore.
func (v *voteStore) Set(key, value []byte) error { return v.written(v.StableStore.Set(key, value)) }

// SetUint64 implements raft.StableStore.
func (v *voteStore) SetUint64(key []byte, value uint64) error {
	return v.written(v.StableStore.SetUint64(key, value))
}

func (v *voteStore) written(err error) error {
	if err != nil {
		v.fail(fmt.Errorf("writing raft's term and vote: %w", err))
		runtime.Goexit()
	}
	return nil
}

// disk is what an agreement keeps on the disk:
//
//	raft/log.db        entries of the log, term and vote
//	raft/snapshots/    the two newest snapshots
//	raft.old/          what a reset dropped, on its way out
//	marks.json         what a reset keeps
type disk struct {
	store     RaftStore
	logs      *logStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
}

// A RaftStore keeps raft's log, its term and vote, and its snapshots. What it is told to keep is durable when it returns,
// but for the names of its files in their directory.
type RaftStore interface {
	raft.LogStore
	raft.StableStore
	raft.SnapshotStore
	io.Closer
}

// openRaft opens the store in a directory, which is there.
type openRaft = func(dir string) (RaftStore, error)

// raftFiles are raft's own files.
type raftFiles struct {
	*raftboltdb.BoltStore
	raft.SnapshotStore
}

// openFiles opens raft's own files in a directory of the operating system's.
func openFiles(dir string, logger hclog.Logger) (RaftStore, error) {
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, logger)
	if err != nil {
		return nil, err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path:        filepath.Join(dir, "log.db"),
		BoltOptions: &bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true},
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%s is in use by another process: a directory belongs to one node", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the raft log in %s: %w", dir, err)
	}
	return raftFiles{bolt, snapshots}, nil
}

// contents are what a disk holds before raft runs.
type contents struct {
	state         *agreed.State      // of the newest snapshot: entries of the log are not known to be committed
	configuration raft.Configuration // the newest, committed or not
}

const (
	raftDir   = "raft"
	oldDir    = "raft.old"
	marksFile = "marks.json"

	snapshotsKept = 2
	lockTimeout   = time.Second // for another process that is just letting go of the log
)

// openDisk opens the files and reads them.
func openDisk(config *agreementConfig, m *marks, fail func(error), logger hclog.Logger) (*disk, contents, error) {
	in := config.folder()
	kept, err := readKept(in)
	if err != nil {
		return nil, contents{}, err
	}
	if err := in.remove(oldDir); err != nil {
		return nil, contents{}, err
	}
	path := in.path(raftDir)
	if err := in.fs.MkdirAll(path, 0o700); err != nil {
		return nil, contents{}, err
	}
	open := config.OpenRaft
	if open == nil {
		open = func(dir string) (RaftStore, error) { return openFiles(dir, logger) }
	}
	store, err := open(path)
	if err != nil {
		return nil, contents{}, err
	}
	if err := errors.Join(in.sync(path), in.sync(in.dir)); err != nil { // the store syncs what is in its files, not their names
		return nil, contents{}, errors.Join(fmt.Errorf("opening %s: %w", path, err), store.Close())
	}
	d := &disk{store: store, logs: &logStore{LogStore: store, marks: m, fail: fail}, stable: store, snapshots: store}
	found, err := d.read(kept, m)
	if err != nil {
		return nil, contents{}, errors.Join(fmt.Errorf("reading %s: %w", path, err), store.Close())
	}
	return d, found, nil
}

// close closes the files.
func (d *disk) close() error { return d.store.Close() }

// read notes the marks of everything stored and finds the newest configuration and snapshot.
func (d *disk) read(kept kept, m *marks) (found contents, err error) {
	if err := kept.restore(d.stable, m); err != nil {
		return contents{}, err
	}
	found, covered, err := newestSnapshot(d.snapshots)
	if err != nil {
		return contents{}, err
	}
	m.noteState(found.state)
	first, err := d.logs.FirstIndex()
	if err != nil {
		return contents{}, err
	}
	last, err := d.logs.LastIndex()
	if err != nil {
		return contents{}, err
	}
	for index := max(first, 1); index <= last; index++ {
		var entry raft.Log
		if err := d.logs.GetLog(index, &entry); err != nil {
			return contents{}, fmt.Errorf("entry %d of the log: %w", index, err)
		}
		m.noteEntry(&entry)
		if entry.Type == raft.LogConfiguration && index > covered.Index {
			found.configuration = raft.DecodeConfiguration(entry.Data)
		}
	}
	return found, nil
}

// newestSnapshot is the newest snapshot that can be read, and the last entry of the log that it covers. Without any it is
// the state before the founding.
func newestSnapshot(snapshots raft.SnapshotStore) (found contents, covered logEnd, err error) {
	list, err := snapshots.List()
	if err != nil {
		return contents{}, logEnd{}, err
	}
	var unread []error
	for _, meta := range list {
		state, err := openSnapshot(snapshots, meta.ID)
		if err == nil {
			return contents{state: state, configuration: meta.Configuration}, logEnd{Term: meta.Term, Index: meta.Index}, nil
		}
		unread = append(unread, fmt.Errorf("snapshot %s: %w", meta.ID, err))
	}
	return contents{state: &agreed.State{}}, logEnd{}, errors.Join(unread...)
}

// openSnapshot reads one snapshot.
func openSnapshot(snapshots raft.SnapshotStore, id string) (*agreed.State, error) {
	_, source, err := snapshots.Open(id)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return readState(source)
}

// kept is what a reset keeps: the marks, and raft's term and vote, so that this node does not vote twice in one term.
type kept struct {
	Marks    map[ring.NodeID]agreed.Mark `json:"marks"`
	Term     uint64                      `json:"term"`
	VoteTerm uint64                      `json:"vote_term"`
	Vote     string                      `json:"vote"`
}

// The names under which raft keeps its term and its vote.
const (
	termKey     = "CurrentTerm"
	voteTermKey = "LastVoteTerm"
	voteKey     = "LastVoteCand"
)

// readKept reads what the last reset kept, if there was one.
func readKept(in folder) (k kept, err error) {
	text, err := in.read(marksFile)
	if errors.Is(err, os.ErrNotExist) {
		return kept{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return kept{}, fmt.Errorf("reading %s: %w", in.path(marksFile), err)
	}
	return k, nil
}

// keep is what a reset of this disk is to keep.
func (d *disk) keep(m *marks) (k kept, err error) {
	k.Marks = m.all()
	if k.Term, err = ignoreMissing(d.stable.GetUint64([]byte(termKey))); err != nil {
		return kept{}, err
	}
	if k.VoteTerm, err = ignoreMissing(d.stable.GetUint64([]byte(voteTermKey))); err != nil {
		return kept{}, err
	}
	vote, err := ignoreMissing(d.stable.Get([]byte(voteKey)))
	k.Vote = string(vote)
	return k, err
}

// ignoreMissing takes a key that is not there for a zero value.
func ignoreMissing[V any](value V, err error) (V, error) {
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return value, nil
	}
	return value, err
}

// restore gives a new stable store its term and vote, and m the marks.
func (k kept) restore(stable raft.StableStore, m *marks) error {
	for id, mark := range k.Marks {
		m.note(id, mark)
	}
	term, err := ignoreMissing(stable.GetUint64([]byte(termKey)))
	if err != nil || term >= k.Term {
		return err
	}
	// The term comes last: if it is there, the vote is.
	if k.Vote != "" {
		if err := stable.Set([]byte(voteKey), []byte(k.Vote)); err != nil {
			return err
		}
		if err := stable.SetUint64([]byte(voteTermKey), k.VoteTerm); err != nil {
			return err
		}
	}
	return stable.SetUint64([]byte(termKey), k.Term)
}

// write makes k durable.
func (k kept) write(in folder) error {
	text, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return err
	}
	return in.replace(marksFile, text)
}
