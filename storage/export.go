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

// exportStepLen is how many registers one step of an export reads.
const exportStepLen = 512

// An export reads a partition's registers as of one moment, that of part and cursor, or those that were written since an
// earlier cursor. A register in memory may have been written since that moment: the export is then stricter than the truth
// was, never looser. Owned by the committer while it has a job of Export.
type export struct {
	part   register.Partition
	cursor []byte

	memory  []*memtable.Entry
	at      int              // entries before this index have been read
	disk    *pebble.Iterator // nil when there is nothing on it, or no more
	started bool             // disk is at a register
	behind  int              // entries before this index have lower keys than disk

	piece []Exported
}

// Export calls yield with the partition's registers, in pieces of at most 512, on the caller's goroutine, until it has
// yielded all or yield returns an error, which Export returns. The slice is used again for the next piece; the values in it
// are not changed. Reading a piece takes the committer a fraction of a millisecond, and reservations are served in between.
//
// The registers are those of the moment of the call, and so is the returned state: all that was answered before is in them,
// and if the state is sealed, they are all that was ever accepted in its epoch. An Export with the returned cursor yields
// only what was written after that moment, if the Store still has the change log: it lists up to 100,000 registers of a
// partition, and is kept for five minutes after the last Export. Otherwise, and after a restart, Export yields everything
// again. So the caller may use a cursor if it has merged all that Export yielded before, and has lost none of it since.
//
// Close does not wait for an Export, which returns ErrClosed then.
func (s *Store) Export(
	ctx context.Context, p ring.Partition, since []byte, yield func([]Exported) error,
) (cursor []byte, part register.Partition, err error) {
	if err := s.checkPartition(p); err != nil {
		return nil, register.Partition{}, err
	}
	e := &export{}
	defer s.push(job{look: func(ended error) {
		if ended == nil {
			_ = s.endExport(e) // an error cannot matter: the iterator only read
		}
	}})
	if err := s.runRead(ctx, func() error { return s.startExport(e, p, since) }); err != nil {
		return nil, register.Partition{}, err
	}
	if e.disk != nil { // so that readDisk can skip registers that are newer in memory
		slices.SortFunc(e.memory, func(a, b *memtable.Entry) int { return strings.Compare(a.Key, b.Key) })
	}
	for {
		if err := s.runRead(ctx, func() error { return s.readExport(e) }); err != nil {
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

// startExport takes the snapshot.
func (s *Store) startExport(e *export, p ring.Partition, since []byte) (err error) {
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	entries, known := s.since(s.changeLogs.byPartition[p], since)
	if known {
		e.memory = slices.Clone(entries)
	} else if e.memory, e.disk, err = s.engine.export(p); err != nil {
		return err
	}
	if e.disk != nil {
		s.exports[e] = struct{}{}
	}
	r := s.changeLogs.start(p)
	r.readTo, r.lastRead = len(r.entries), s.cfg.Now()
	e.cursor, e.part = s.cursor(r), s.partitions[p]
	return nil
}

// readExport reads the next piece, first from memory, then from disk. An empty piece is the end.
func (s *Store) readExport(e *export) error {
	e.piece = e.piece[:0]
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	for ; e.at < len(e.memory) && len(e.piece) < exportStepLen; e.at++ {
		_, key, limit := cutRegisterKey(e.memory[e.at].Key)
		e.piece = append(e.piece, Exported{key, limit, e.memory[e.at].Register})
	}
	for e.disk != nil && len(e.piece) < exportStepLen {
		if err := s.readDisk(e); err != nil {
			return errors.Join(err, s.endExport(e))
		}
	}
	return nil
}

// readDisk reads the next register from disk, if there is one.
func (s *Store) readDisk(e *export) error {
	next := e.disk.Next
	if !e.started {
		next, e.started = e.disk.First, true
	}
	if !next() {
		return errors.Join(e.disk.Error(), s.endExport(e))
	}
	for e.behind < len(e.memory) && e.memory[e.behind].Key < string(e.disk.Key()) {
		e.behind++
	}
	if e.behind < len(e.memory) && e.memory[e.behind].Key == string(e.disk.Key()) {
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
