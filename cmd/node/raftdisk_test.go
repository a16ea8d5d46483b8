package node

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/jeton-dev/jeton/ring/cluster/consensus"
)

// A raftDisk keeps raft's log, its term and vote, and its snapshots on a file system from which the power can be cut, in
// the place of a bbolt database, which needs a file of the operating system's. It promises what raft-boltdb and raft's own
// snapshots promise, and no more: what it was told is synced when it returns, the name of its file in its directory is not.
//
// The log is a file of records that are synced one by one; a torn one at its end was never answered.
type raftDisk struct {
	fs  vfs.FS
	dir string

	mu   sync.Mutex
	file vfs.File
	logs map[uint64]*raft.Log
	low  uint64
	high uint64
	keys map[string][]byte
}

var _ consensus.RaftStore = (*raftDisk)(nil)

// A raftRecord is one thing that raft has the disk keep.
type raftRecord struct {
	Logs     []*raft.Log `json:",omitempty"`
	From, To uint64      // entries to delete
	Key      string      `json:",omitempty"`
	Value    []byte      `json:",omitempty"`
}

// openRaftDisk opens the log in dir, which is there, or makes one.
func openRaftDisk(fs vfs.FS, dir string) (*raftDisk, error) {
	d := &raftDisk{fs: fs, dir: dir, logs: map[uint64]*raft.Log{}, keys: map[string][]byte{}}
	file, err := fs.OpenReadWrite(fs.PathJoin(dir, "log.db"), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	rest := text
	for {
		payload, size := parseRecord(rest)
		if size == 0 {
			break
		}
		var r raftRecord
		if err := json.Unmarshal(payload, &r); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		d.apply(r)
		rest = rest[size:]
	}
	d.file = file
	if len(rest) > 0 {
		if err := d.rewrite(text[:len(text)-len(rest)]); err != nil {
			return nil, err
		}
	}
	if err := fs.MkdirAll(d.snapshotDir(), 0o700); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return d, nil
}

// rewrite leaves out a torn record at the end.
func (d *raftDisk) rewrite(whole []byte) error {
	path := d.fs.PathJoin(d.dir, "log.db")
	if err := d.file.Close(); err != nil {
		return err
	}
	file, err := d.fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	d.file = file
	_, err = file.Write(whole)
	if err := errors.Join(err, file.Sync()); err != nil {
		return errors.Join(err, file.Close())
	}
	return d.fs.Rename(path+".new", path)
}

const recordHead = 8

// parseRecord reads the record at the start of text; its size is 0 if there is no whole one.
func parseRecord(text []byte) (payload []byte, size int) {
	if len(text) < recordHead {
		return nil, 0
	}
	length := int(binary.BigEndian.Uint32(text))
	if length == 0 || length > len(text)-recordHead {
		return nil, 0
	}
	payload = text[recordHead : recordHead+length]
	if crc32.ChecksumIEEE(payload) != binary.BigEndian.Uint32(text[4:]) {
		return nil, 0
	}
	return payload, recordHead + length
}

func (d *raftDisk) apply(r raftRecord) {
	if r.Key != "" {
		d.keys[r.Key] = r.Value
	}
	for _, entry := range r.Logs {
		d.logs[entry.Index] = entry
		if d.low == 0 || entry.Index < d.low {
			d.low = entry.Index
		}
		d.high = max(d.high, entry.Index)
	}
	if r.To == 0 {
		return
	}
	for i := r.From; i <= r.To; i++ {
		delete(d.logs, i)
	}
	d.low, d.high = 0, 0
	for i := range d.logs {
		if d.low == 0 || i < d.low {
			d.low = i
		}
		d.high = max(d.high, i)
	}
}

// keep makes a record durable, and then takes it in.
func (d *raftDisk) keep(r raftRecord) error {
	payload, err := json.Marshal(r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	record := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	record = binary.BigEndian.AppendUint32(record, crc32.ChecksumIEEE(payload))
	if _, err := d.file.Write(append(record, payload...)); err != nil {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	var own raftRecord // raft goes on using what it has handed over
	if err := json.Unmarshal(payload, &own); err != nil {
		return err
	}
	d.apply(own)
	return nil
}

func (d *raftDisk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.file.Close()
}

func (d *raftDisk) FirstIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.low, nil
}

func (d *raftDisk) LastIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.high, nil
}

func (d *raftDisk) GetLog(index uint64, entry *raft.Log) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.logs[index]
	if found == nil {
		return raft.ErrLogNotFound
	}
	*entry = *found
	return nil
}

func (d *raftDisk) StoreLog(entry *raft.Log) error { return d.StoreLogs([]*raft.Log{entry}) }

func (d *raftDisk) StoreLogs(entries []*raft.Log) error { return d.keep(raftRecord{Logs: entries}) }

func (d *raftDisk) DeleteRange(from, to uint64) error {
	return d.keep(raftRecord{From: from, To: to})
}

func (d *raftDisk) Set(key, value []byte) error {
	return d.keep(raftRecord{Key: string(key), Value: value})
}

func (d *raftDisk) Get(key []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	value, ok := d.keys[string(key)]
	if !ok {
		return nil, raftboltdb.ErrKeyNotFound
	}
	return value, nil
}

func (d *raftDisk) SetUint64(key []byte, value uint64) error {
	return d.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

func (d *raftDisk) GetUint64(key []byte) (uint64, error) {
	value, err := d.Get(key)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// Snapshots are files, each a line of what raft says of it and then what is in it. They appear whole.

func (d *raftDisk) snapshotDir() string { return d.fs.PathJoin(d.dir, "snapshots") }

// A raftSnapshot is one that is being written.
type raftSnapshot struct {
	bytes.Buffer
	disk *raftDisk
	meta raft.SnapshotMeta
}

func (d *raftDisk) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	return &raftSnapshot{disk: d, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%020d-%020d", term, index), Index: index, Term: term,
		Configuration: configuration, ConfigurationIndex: configurationIndex,
	}}, nil
}

func (s *raftSnapshot) ID() string    { return s.meta.ID }
func (s *raftSnapshot) Cancel() error { return nil }

func (s *raftSnapshot) Close() error {
	d := s.disk
	s.meta.Size = int64(s.Len())
	head, err := json.Marshal(s.meta)
	if err != nil {
		return err
	}
	path := d.fs.PathJoin(d.snapshotDir(), s.meta.ID)
	file, err := d.fs.Create(path+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(slices.Concat(head, []byte("\n"), s.Bytes()))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := d.fs.Rename(path+".tmp", path); err != nil {
		return err
	}
	parent, err := d.fs.OpenDir(d.snapshotDir())
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func (d *raftDisk) List() ([]*raft.SnapshotMeta, error) {
	names, err := d.fs.List(d.snapshotDir())
	if err != nil {
		return nil, err
	}
	var all []*raft.SnapshotMeta
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			continue
		}
		meta, source, err := d.Open(name)
		if err != nil {
			return nil, err
		}
		all = append(all, meta)
		if err := source.Close(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b *raft.SnapshotMeta) int { return -cmp.Compare(a.ID, b.ID) })
	return all, nil
}

func (d *raftDisk) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	file, err := d.fs.Open(d.fs.PathJoin(d.snapshotDir(), id))
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, nil, err
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	meta := &raft.SnapshotMeta{}
	if err := json.Unmarshal(head, meta); err != nil {
		return nil, nil, err
	}
	return meta, io.NopCloser(bytes.NewReader(body)), nil
}
