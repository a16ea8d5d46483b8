package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/journal"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// A diskEngine keeps registers in Pebble, behind a journal and memtables, as an LSM tree does: a commit appends one record
// to the journal, and the registers in it stay in memory as well. After 16 MiB of journal, or 15 seconds, the engine
// rotates: it starts a new file of the journal, and flushes to Pebble, as one sstable, what was last written before the
// previous rotation. Those registers then leave the memory and the journal. So a register that is written all the time
// costs one line of the journal for each write and nothing else, and an idle one is in Pebble only.
//
//	          put, commit                    two rotations later             flushed
//	register ─────────────▶ entry + journal ─────────────────────▶ sstable ─────────▶ Pebble
//
// At the next start, what the journal still holds is flushed first: see flushJournal.
type diskEngine struct {
	db         *database.DB
	journal    *journal.Journal
	rotateSize int64  // bytes of a journal file after which the engine rotates
	wake       func() // has maintain called soon

	memtables memtable.Tables // registers that Pebble does not have, or only an older state of

	record  []byte // the record of the next commit
	written int    // registers since the last flush step
	value   []byte // scratch

	rotation   uint64                // the number of the last one
	firstWrite int64                 // time of the first write since then, or 0
	current    list[*memtable.Entry] // written since the last rotation
	previous   list[*memtable.Entry] // written between the last two
	firstFile  uint64                // the journal file of the last rotation
	flushing   *flush                // nil when none is under way

	iter *pebble.Iterator // reads Pebble as it is since its last change; nil when there is none
}

// maxRotationAge is how long after the first write the engine rotates at the latest, in nanoseconds.
const maxRotationAge = int64(15 * time.Second)

// flushJournal moves what an earlier process has left in the journal to Pebble.
func flushJournal(db *database.DB, j *journal.Journal) error {
	var r run
	deletePartition := func(p ring.Partition) error { return deleteRegisters(db, p) }
	err := j.Replay(func(payload []byte) error { return r.replay(payload, deletePartition) }, func() error { // one file at a time, to bound the memory
		err := r.ingest(db)
		r = run{}
		return err
	})
	if err != nil {
		return err
	}
	return j.Release(math.MaxUint64, 0)
}

// newDiskEngine opens the registers in db, with a journal that flushJournal has emptied. boot is higher than at every
// earlier start.
func newDiskEngine(db *database.DB, j *journal.Journal, cfg *Config, boot uint64, wake func()) (*diskEngine, error) {
	d := &diskEngine{
		db: db, journal: j, rotateSize: cfg.journalSize, wake: wake,
		memtables: memtable.NewTables(cfg.Partitions), record: make([]byte, journal.RecordHead),
		rotation: boot << 32,
	}
	err := d.rotate()
	return d, err
}

// rotate starts a new file of the journal, unless nothing was written to the present one.
func (d *diskEngine) rotate() error {
	d.rotation++
	d.firstWrite = 0
	if !d.journal.Fresh() {
		if err := d.journal.StartFile(d.rotation); err != nil {
			return fmt.Errorf("start a file of the journal: %w", err)
		}
	}
	d.firstFile = d.journal.Number()
	return nil
}

func (d *diskEngine) memtable(key []byte) *memtable.Table { return &d.memtables[partitionOf(key)] }

func (d *diskEngine) get(s *memtable.Slot) (register.Register, bool, error) {
	if s.Entry == nil { // an earlier reservation of the batch may have added it
		*s = d.memtable(s.Key).Lookup(s.Key)
	}
	if s.Entry != nil {
		return s.Entry.Register, true, nil
	}
	return d.read(s.Key)
}

func (d *diskEngine) put(s *memtable.Slot, r register.Register) error {
	if s.Entry == nil {
		s.Entry = d.memtable(s.Key).Add(s)
	}
	e := s.Entry
	e.Set(r)
	if e.Rotation != d.rotation {
		e.Rotation = d.rotation
		d.current.add(e)
	}
	d.value = r.Append(d.value[:0])
	d.record = appendWrite(d.record, s.Key, d.value)
	d.written++
	return nil
}

func (d *diskEngine) commit() error {
	if len(d.record) == journal.RecordHead {
		return nil
	}
	if err := d.journal.Append(d.record); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if cap(d.record) > maxKeptRecord {
		d.record = make([]byte, journal.RecordHead)
	}
	d.record = d.record[:journal.RecordHead]
	return nil
}

// maxKeptRecord is the largest buffer for a record, in bytes, that is kept for the next one.
const maxKeptRecord = 1 << 20

// sweep skips registers that are in memory: Pebble has only an older state of them until they are flushed. It counts them
// with the last piece.
func (d *diskEngine) sweep(p ring.Partition, from []byte, part register.Partition, limit int) ([]byte, sweepResult, error) {
	lower, upper := registersOf(p)
	if from != nil {
		lower = from
	}
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, sweepResult{}, err
	}
	del := deletion{batch: d.db.NewBatch(), useRanges: !d.flushing.ingesting()}
	looked := 0
	var next []byte
	var seen sweepResult
	for ok := it.First(); ok; ok = it.Next() {
		if looked++; looked > limit {
			next = bytes.Clone(it.Key())
			upper = next
			break
		}
		r, err := register.Decode(it.Value())
		switch {
		case err != nil:
		case r.Swept(part.Horizon) && d.memtables[p].Lookup(it.Key()).Entry == nil:
			del.delete(it.Key())
		default:
			err = del.keep()
			if r.Inline && d.memtables[p].Lookup(it.Key()).Entry == nil {
				seen.inline++
			}
		}
		if err != nil {
			return nil, seen, errors.Join(fmt.Errorf("sweep %q: %w", it.Key(), err), it.Close(), del.batch.Close())
		}
	}
	if next == nil {
		seen.inline += d.memtables[p].Inline()
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil || del.count == 0 {
		return next, seen, errors.Join(err, del.batch.Close())
	}
	if err := del.end(lower, upper); err != nil {
		return nil, seen, errors.Join(err, del.batch.Close())
	}
	if err := del.batch.Set(partitionKey(p), part.Append(nil), nil); err != nil {
		return nil, seen, errors.Join(err, del.batch.Close())
	}
	seen.deleted = del.count
	return next, seen, errors.Join(del.batch.Commit(pebble.Sync), d.dropIter())
}

func (d *diskEngine) export(p ring.Partition) ([]*memtable.Entry, *pebble.Iterator, error) {
	lower, upper := registersOf(p)
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, nil, fmt.Errorf("read registers: %w", err)
	}
	return slices.Collect(d.memtables[p].All()), it, nil
}

// drop takes the partition out of a flush that is under way, and writes to the journal that earlier records of it are void.
func (d *diskEngine) drop(p ring.Partition) error {
	for e := range d.memtables[p].All() {
		e.Rotation = 0 // none: no flush will take it
	}
	d.memtables[p] = memtable.New()
	if d.flushing != nil {
		d.flushing.drop(p)
	}
	lower, _ := registersOf(p)
	d.record = appendWrite(d.record, lower, nil)
	return d.dropIter()
}

// maintain rotates when it is time, and does the next step of a flush.
func (d *diskEngine) maintain(now int64) (more bool, err error) {
	if d.firstWrite == 0 && (d.current.len() > 0 || d.previous.len() > 0) {
		d.firstWrite = now
	}
	if d.flushing != nil {
		return d.flushStep()
	}
	if d.journal.Size() < d.rotateSize {
		if d.firstWrite == 0 || now-d.firstWrite < maxRotationAge {
			return false, nil
		}
		if err := d.journal.Trim(); err != nil {
			return false, fmt.Errorf("trim the journal: %w", err)
		}
	}
	d.flushing = &flush{entries: d.previous, rotation: d.rotation - 1, firstNeeded: d.firstFile}
	d.previous, d.current = d.current, list[*memtable.Entry]{}
	d.written = 0
	return true, d.rotate()
}

func (d *diskEngine) close() error {
	if d.flushing != nil {
		d.flushing.wait()
	}
	return errors.Join(d.dropIter(), d.journal.Close())
}
