package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/jeton-dev/jeton/ring"
)

// marks are the highest marks of nodes in anything that is durable here. They only rise: a mark whose entry raft has
// taken back was on its node's disk before it was proposed, so it is true all the same.
type marks struct {
	mu      sync.Mutex
	highest map[ring.NodeID]Mark
}

func newMarks() *marks { return &marks{highest: map[ring.NodeID]Mark{}} }

// of is the highest mark of a node.
func (m *marks) of(id ring.NodeID) (Mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	highest, ok := m.highest[id]
	return highest, ok
}

// all is a copy of them.
func (m *marks) all() map[ring.NodeID]Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.highest)
}

// note takes a mark that is durable.
func (m *marks) note(id ring.NodeID, mark Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if highest, ok := m.highest[id]; !ok || highest.Compare(mark) < 0 {
		m.highest[id] = mark
	}
}

// noteState takes the marks of a durable snapshot.
func (m *marks) noteState(s *State) {
	for id, n := range s.Nodes {
		m.note(id, n.Mark)
	}
}

// noteEntry takes the marks of a durable entry of the log.
func (m *marks) noteEntry(entry *raft.Log) {
	if entry.Type != raft.LogCommand {
		return
	}
	c, err := decodeCommand(entry.Data)
	switch {
	case err != nil: // whoever applies it will say so
	case c.Mark != nil:
		m.note(c.Mark.ID, c.Mark.Mark)
	case c.Join != nil:
		m.note(c.Join.Node.ID, c.Join.Node.Mark)
	case c.Replace != nil:
		m.note(c.Replace.New.ID, c.Replace.New.Mark)
	case c.Found != nil:
		for _, n := range c.Found.Nodes {
			m.note(n.ID, n.Mark)
		}
	}
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

// disk is what an agreement keeps on the disk:
//
//	raft/log.db        entries of the log, term and vote
//	raft/snapshots/    the two newest snapshots
//	raft.old/          what a reset dropped, on its way out
//	marks.json         what a reset keeps
type disk struct {
	bolt      *raftboltdb.BoltStore
	logs      *logStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
}

// contents are what a disk holds before raft runs.
type contents struct {
	state         *State             // of the newest snapshot: entries of the log are not known to be committed
	configuration raft.Configuration // the newest, committed or not
}

const (
	raftDir   = "raft"
	oldDir    = "raft.old"
	marksFile = "marks.json"

	snapshotsKept = 2
	lockTimeout   = time.Second // for another process that is just letting go of the log
)

// openDisk opens the files in dir and reads them.
func openDisk(dir string, m *marks, fail func(error), logger hclog.Logger) (*disk, contents, error) {
	kept, err := readKept(dir)
	if err != nil {
		return nil, contents{}, err
	}
	if err := os.RemoveAll(filepath.Join(dir, oldDir)); err != nil {
		return nil, contents{}, err
	}
	path := filepath.Join(dir, raftDir)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, contents{}, err
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(path, snapshotsKept, logger)
	if err != nil {
		return nil, contents{}, err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path:        filepath.Join(path, "log.db"),
		BoltOptions: &bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true},
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, contents{}, fmt.Errorf("%s is in use by another process: a directory belongs to one node", path)
	}
	if err != nil {
		return nil, contents{}, fmt.Errorf("opening the raft log in %s: %w", path, err)
	}
	d := &disk{bolt: bolt, logs: &logStore{LogStore: bolt, marks: m, fail: fail}, stable: bolt, snapshots: snapshots}
	found, err := d.read(kept, m)
	if err != nil {
		return nil, contents{}, errors.Join(fmt.Errorf("reading %s: %w", path, err), bolt.Close())
	}
	return d, found, nil
}

// close closes the files.
func (d *disk) close() error { return d.bolt.Close() }

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
		if entry.Type == raft.LogConfiguration && index > covered {
			found.configuration = raft.DecodeConfiguration(entry.Data)
		}
	}
	return found, nil
}

// newestSnapshot is the newest snapshot that can be read, and the last entry of the log that it covers. Without any it is
// the state before the founding.
func newestSnapshot(snapshots raft.SnapshotStore) (found contents, covered uint64, err error) {
	list, err := snapshots.List()
	if err != nil {
		return contents{}, 0, err
	}
	var unread []error
	for _, meta := range list {
		state, err := openSnapshot(snapshots, meta.ID)
		if err == nil {
			return contents{state: state, configuration: meta.Configuration}, meta.Index, nil
		}
		unread = append(unread, fmt.Errorf("snapshot %s: %w", meta.ID, err))
	}
	return contents{state: &State{}}, 0, errors.Join(unread...)
}

// openSnapshot reads one snapshot.
func openSnapshot(snapshots raft.SnapshotStore, id string) (*State, error) {
	_, source, err := snapshots.Open(id)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return readState(source)
}

// kept is what a reset keeps: the marks, and raft's term and vote, so that this node does not vote twice in one term.
type kept struct {
	Marks    map[ring.NodeID]Mark `json:"marks"`
	Term     uint64               `json:"term"`
	VoteTerm uint64               `json:"vote_term"`
	Vote     string               `json:"vote"`
}

// The names under which raft keeps its term and its vote.
const (
	termKey     = "CurrentTerm"
	voteTermKey = "LastVoteTerm"
	voteKey     = "LastVoteCand"
)

// readKept reads what the last reset kept, if there was one.
func readKept(dir string) (k kept, err error) {
	text, err := os.ReadFile(filepath.Join(dir, marksFile))
	if errors.Is(err, os.ErrNotExist) {
		return kept{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return kept{}, fmt.Errorf("reading %s: %w", filepath.Join(dir, marksFile), err)
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

// write makes k durable in dir.
func (k kept) write(dir string) error {
	text, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, marksFile)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes renames in a directory durable.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
