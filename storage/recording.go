package storage

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
)

const (
	// maxRecorded is how many registers one recording may hold, and maxRecordedInAll all of them together.
	maxRecorded      = 100_000
	maxRecordedInAll = 1_000_000
	// recordingAge is for how long nobody may have asked for a recording.
	recordingAge = int64(5 * time.Minute)
)

// recordings note which registers of a partition are written after it was exported, so that the next export needs to tell
// of those only. It is guarded by Store.deciding.
type recordings struct {
	of      []*recording // by partition; nil where nothing is noted
	last    uint32       // number of the newest
	entries int          // in all of them
}

// A recording is the registers of one partition that were written since it began, in their order. Whoever has exported
// the partition has a place in it, and needs what comes after that. An entry tells what was written last, even after it
// has been settled or swept.
type recording struct {
	partition ring.Partition
	number    uint32
	entries   []*memtable.Entry
	asked     int   // the latest place that anybody has: an entry needs to be noted once after it
	used      int64 // when it was asked for last
}

// begin is the recording of a partition, or a new one.
func (rs *recordings) begin(p ring.Partition) *recording {
	if rs.of[p] == nil {
		rs.last++
		rs.of[p] = &recording{partition: p, number: rs.last}
	}
	return rs.of[p]
}

// note notes that an entry has been written.
func (rs *recordings) note(r *recording, e *memtable.Entry) {
	if e.ChangeLog == r.number && int(e.Place) >= r.asked {
		return
	}
	if len(r.entries) >= maxRecorded || rs.entries >= maxRecordedInAll {
		rs.end(r.partition)
		return
	}
	e.ChangeLog, e.Place = r.number, uint32(len(r.entries))
	r.entries = append(r.entries, e)
	rs.entries++
}

// end ends the recording of a partition, if there is one.
func (rs *recordings) end(p ring.Partition) {
	if r := rs.of[p]; r != nil {
		rs.entries -= len(r.entries)
		rs.of[p] = nil
	}
}

// endRecordings ends those that nobody has asked for in a while.
func (s *Store) endRecordings(now int64) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	for p, r := range s.recordings.of {
		if r != nil && now-r.used > recordingAge {
			s.recordings.end(ring.Partition(p))
		}
	}
}

// A cursor is a place in a recording of one life of a Store:
//
//	┌───────────┬───────────────┬───────────────┐
//	│ life      │ recording     │ place         │
//	│ 16 random │ 4, big endian │ 4, big endian │
//	└───────────┴───────────────┴───────────────┘
func (s *Store) cursor(r *recording) []byte {
	c := binary.BigEndian.AppendUint32(bytes.Clone(s.life[:]), r.number)
	return binary.BigEndian.AppendUint32(c, uint32(len(r.entries)))
}

// since are the entries after a cursor's place, if its recording goes on.
func (s *Store) since(r *recording, cursor []byte) (entries []*memtable.Entry, known bool) {
	life, place := cursor, []byte(nil)
	if len(cursor) == len(s.life)+8 {
		life, place = cursor[:len(s.life)], cursor[len(s.life):]
	}
	if r == nil || place == nil || !bytes.Equal(life, s.life[:]) || binary.BigEndian.Uint32(place) != r.number {
		return nil, false
	}
	from := binary.BigEndian.Uint32(place[4:])
	if uint64(from) > uint64(len(r.entries)) {
		return nil, false
	}
	return r.entries[from:], true
}
