package storage

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
)

const (
	// maxLogged is how many registers one change log may list, and maxLoggedTotal all of them together.
	maxLogged      = 100_000
	maxLoggedTotal = 1_000_000
	// changeLogIdle is for how long a change log is kept after it was last read, in nanoseconds.
	changeLogIdle = int64(5 * time.Minute)
)

// changeLogs list which registers of a partition were written after an export, so that the next export yields only those.
// Guarded by Store.decideMu.
type changeLogs struct {
	byPartition []*changeLog // nil for a partition without one
	lastNumber  uint32       // the number of the newest
	total       int          // entries of all of them
}

// A changeLog lists the registers of one partition that were written since it started, in order. The cursor of an export is
// an index into it: the next export needs the entries from there on. An entry holds the last state of its register, even
// after it was flushed or swept.
type changeLog struct {
	partition ring.Partition
	number    uint32
	entries   []*memtable.Entry
	readTo    int   // the highest cursor handed out: an entry must be listed once from there on
	lastRead  int64 // when an export last read it
}

// start returns the change log of a partition, or a new one.
func (rs *changeLogs) start(p ring.Partition) *changeLog {
	if rs.byPartition[p] == nil {
		rs.lastNumber++
		rs.byPartition[p] = &changeLog{partition: p, number: rs.lastNumber}
	}
	return rs.byPartition[p]
}

// add lists an entry that was written.
func (rs *changeLogs) add(r *changeLog, e *memtable.Entry) {
	if e.ChangeLog == r.number && int(e.Place) >= r.readTo {
		return
	}
	if len(r.entries) >= maxLogged || rs.total >= maxLoggedTotal {
		rs.remove(r.partition)
		return
	}
	e.ChangeLog, e.Place = r.number, uint32(len(r.entries))
	r.entries = append(r.entries, e)
	rs.total++
}

// remove removes the change log of a partition, if there is one.
func (rs *changeLogs) remove(p ring.Partition) {
	if r := rs.byPartition[p]; r != nil {
		rs.total -= len(r.entries)
		rs.byPartition[p] = nil
	}
}

// dropIdleChangeLogs removes the change logs that no export has read for a while.
func (s *Store) dropIdleChangeLogs(now int64) {
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	for p, r := range s.changeLogs.byPartition {
		if r != nil && now-r.lastRead > changeLogIdle {
			s.changeLogs.remove(ring.Partition(p))
		}
	}
}

// A cursor is an index into a change log of one process:
//
//	┌───────────┬───────────────┬───────────────┐
//	│ process   │ change log    │ index         │
//	│ 16 random │ 4, big endian │ 4, big endian │
//	└───────────┴───────────────┴───────────────┘
func (s *Store) cursor(r *changeLog) []byte {
	c := binary.BigEndian.AppendUint32(bytes.Clone(s.incarnation[:]), r.number)
	return binary.BigEndian.AppendUint32(c, uint32(len(r.entries)))
}

// since returns the entries from a cursor on, if its change log still exists.
func (s *Store) since(r *changeLog, cursor []byte) (entries []*memtable.Entry, known bool) {
	process, index := cursor, []byte(nil)
	if len(cursor) == len(s.incarnation)+8 {
		process, index = cursor[:len(s.incarnation)], cursor[len(s.incarnation):]
	}
	if r == nil || index == nil || !bytes.Equal(process, s.incarnation[:]) || binary.BigEndian.Uint32(index) != r.number {
		return nil, false
	}
	from := binary.BigEndian.Uint32(index[4:])
	if uint64(from) > uint64(len(r.entries)) {
		return nil, false
	}
	return r.entries[from:], true
}
