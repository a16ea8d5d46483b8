package consensus

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

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
	lost      []ring.NodeID // who was named as lost when the last reset was
}

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
		return nil, fmt.Errorf("%s is in use by another process: give each node its own data directory", dir)
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
	raftDir = "raft"
	oldDir  = "raft.old"

	snapshotsKept = 2
	lockTimeout   = time.Second // for another process that is just letting go of the log
)

// openDisk opens the files and reads them.
func openDisk(config *Config, m *marks, fail func(error), logger hclog.Logger) (*disk, contents, error) {
	in := config.folder()
	kept, err := readResetState(in)
	if err != nil {
		return nil, contents{}, err
	}
	if err := in.Remove(oldDir); err != nil {
		return nil, contents{}, err
	}
	path := in.Path(raftDir)
	if err := in.FS.MkdirAll(path, 0o700); err != nil {
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
	if err := errors.Join(in.Sync(path), in.Sync(in.Dir)); err != nil { // the store syncs what is in its files, not their names
		return nil, contents{}, errors.Join(fmt.Errorf("opening %s: %w", path, err), store.Close())
	}
	d := &disk{store: store, logs: &logStore{LogStore: store, marks: m, fail: fail}, stable: store, snapshots: store, lost: kept.Lost}
	found, err := d.read(kept, m)
	if err != nil {
		return nil, contents{}, errors.Join(fmt.Errorf("reading %s: %w", path, err), store.Close())
	}
	return d, found, nil
}

// close closes the files.
func (d *disk) close() error { return d.store.Close() }

// read notes the marks of everything stored and finds the newest configuration and snapshot.
func (d *disk) read(kept resetState, m *marks) (found contents, err error) {
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
func newestSnapshot(snapshots raft.SnapshotStore) (found contents, covered LogEnd, err error) {
	list, err := snapshots.List()
	if err != nil {
		return contents{}, LogEnd{}, err
	}
	var unread []error
	for _, meta := range list {
		state, err := openSnapshot(snapshots, meta.ID)
		if err == nil {
			return contents{state: state, configuration: meta.Configuration}, LogEnd{Term: meta.Term, Index: meta.Index}, nil
		}
		unread = append(unread, fmt.Errorf("snapshot %s: %w", meta.ID, err))
	}
	return contents{state: &agreed.State{}}, LogEnd{}, errors.Join(unread...)
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

// forgetCutBootstrap is for a node that was killed while raft wrote its first configuration: after the term, which raft writes first, and
// before the log. Raft takes the term for the state of a cluster, and would never found one on this disk.
func (d *disk) forgetCutBootstrap() error {
	const first = 1 // the term of every bootstrap
	term, err := ignoreMissing(d.stable.GetUint64([]byte(termKey)))
	if err != nil || term != first {
		return err
	}
	voted, err := ignoreMissing(d.stable.GetUint64([]byte(voteTermKey)))
	if err != nil {
		return err
	}
	last, err := d.logs.LastIndex()
	if err != nil {
		return err
	}
	snapshots, err := d.snapshots.List()
	if err != nil || voted > 0 || last > 0 || len(snapshots) > 0 {
		return err
	}
	return d.stable.SetUint64([]byte(termKey), 0)
}
