package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// Exported is the register of one bucket of a partition.
type Exported struct {
	Key, Limit string
	Register   register.Register
}

// exportAtOnce is how many registers are read before checks get their turn.
const exportAtOnce = 512

// An export is a partition's registers as they stood in one moment, or those that were written since another; the moment
// is that of part and cursor. A register in memory may have moved on since, which makes what is exported stricter than
// the truth at most. The committer's own while it has a job of Export's.
type export struct {
	part   register.Partition
	cursor []byte

	memory []*memtable.Entry
	at     int              // entries before this index have been read
	disk   *pebble.Iterator // nil when there is nothing on it, or no more
	begun  bool             // the iterator stands on a register
	known  int              // entries before this index have lower keys than what comes from the disk

	piece []Exported
}

// Export calls yield with the partition's registers, in pieces of at most 512, on the caller's goroutine, until there are
// no more or yield returns an error, which Export returns. The slice is used again; what is in it stays as it is. A piece
// takes the Store a fraction of a millisecond, and then reservations have their turn.
//
// The registers are those of the moment of the call: all that was answered before is in them, and the state that is
// returned is of that moment too: if it is sealed, they are all that was ever accepted in its epoch. An Export with the
// cursor yields only what was written after that moment, if the Store still knows: it notes up to 100,000 registers of a
// partition, and for five minutes after the last Export. Otherwise, and after a restart, it yields everything again. So a
// cursor serves whoever has merged all that came before it, and has lost nothing of that since.
//
// Close does not wait for an Export, which returns ErrClosed then.
func (s *Store) Export(
	ctx context.Context, p ring.Partition, since []byte, yield func([]Exported) error,
) (cursor []byte, part register.Partition, err error) {
	if err := s.exists(p); err != nil {
		return nil, register.Partition{}, err
	}
	e := &export{}
	defer s.push(job{look: func(ended error) {
		if ended == nil {
			_ = s.endExport(e) // an error would be of what was only read
		}
	}})
	if err := s.look(ctx, func() error { return s.beginExport(e, p, since) }); err != nil {
		return nil, register.Partition{}, err
	}
	if e.disk != nil { // to see, in their order, which registers on the disk are not the newest
		slices.SortFunc(e.memory, func(a, b *memtable.Entry) int { return strings.Compare(a.Key, b.Key) })
	}
	for {
		if err := s.look(ctx, func() error { return s.readExport(e) }); err != nil {
			return nil, register.Partition{}, err
		}
		if len(e.piece) == 0 {
			return e.cursor, e.part, nil
		}
		if err := yield(e.piece); err != nil {
			return nil, register.Partition{}, err
		}
	}
}

// beginExport fixes the moment.
func (s *Store) beginExport(e *export, p ring.Partition, since []byte) (err error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	entries, known := s.since(s.recordings.of[p], since)
	if known {
		e.memory = slices.Clone(entries)
	} else if e.memory, e.disk, err = s.table.export(p); err != nil {
		return err
	}
	if e.disk != nil {
		s.exports[e] = struct{}{}
	}
	r := s.recordings.begin(p)
	r.asked, r.used = len(r.entries), s.cfg.Now()
	e.cursor, e.part = s.cursor(r), s.partitions[p]
	return nil
}

// readExport reads the next piece: first from memory, then from the disk. An empty piece is the end.
func (s *Store) readExport(e *export) error {
	e.piece = e.piece[:0]
	s.deciding.Lock()
	defer s.deciding.Unlock()
	for ; e.at < len(e.memory) && len(e.piece) < exportAtOnce; e.at++ {
		_, key, limit := cutRegisterKey(e.memory[e.at].Key)
		e.piece = append(e.piece, Exported{key, limit, e.memory[e.at].Register})
	}
	for e.disk != nil && len(e.piece) < exportAtOnce {
		if err := s.readDisk(e); err != nil {
			return errors.Join(err, s.endExport(e))
		}
	}
	return nil
}

// readDisk reads the next register from the disk, if it is not the last.
func (s *Store) readDisk(e *export) error {
	next := e.disk.Next
	if !e.begun {
		next, e.begun = e.disk.First, true
	}
	if !next() {
		return errors.Join(e.disk.Error(), s.endExport(e))
	}
	for e.known < len(e.memory) && e.memory[e.known].Key < string(e.disk.Key()) {
		e.known++
	}
	if e.known < len(e.memory) && e.memory[e.known].Key == string(e.disk.Key()) {
		return nil
	}
	_, key, limit, err := parseRegisterKey(e.disk.Key())
	if err != nil {
		return fmt.Errorf("read register %q: %w", e.disk.Key(), err)
	}
	r, err := register.Decode(e.disk.Value())
	if err != nil {
		return fmt.Errorf("read register %q: %w", e.disk.Key(), err)
	}
	e.piece = append(e.piece, Exported{key, limit, r})
	return nil
}

// endExport closes the iterator, if there is one.
func (s *Store) endExport(e *export) error {
	it := e.disk
	if it == nil {
		return nil
	}
	e.disk = nil
	delete(s.exports, e)
	return it.Close()
}

// endExports closes all iterators before the database is closed.
func (s *Store) endExports() (err error) {
	for e := range s.exports {
		err = errors.Join(err, s.endExport(e))
	}
	return err
}
