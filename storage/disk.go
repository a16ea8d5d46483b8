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

// A diskTable keeps registers in Pebble, with a journal before it: a commit is one record of the journal, and what it
// says stays in memory too, as entries. A generation is what was written while one file of the journal was; when it
// ends, what was last written in the generation before it is settled: it goes into Pebble as one sorted table, and then
// out of memory and out of the journal. So a register that is written all the time costs a line of the journal each
// time and no more, and one that is left alone is in Pebble, and nowhere else, soon after.
//
//	          put, commit                    a generation later               afterwards
//	register ─────────────▶ entry + journal ───────────────────▶ entry, table ───────────▶ Pebble
//
// At the start of the next life the rest of the journal is settled: see settleJournal.
type diskTable struct {
	db      *database.DB
	journal *journal.Journal
	size    int64  // of a file of the journal, after which the generation ends
	wake    func() // has tidy called soon

	entries memtable.Tables // what Pebble does not have, or not as it is now

	record  []byte // the record of the next commit
	written int    // registers since the last settling step
	value   []byte // scratch

	generation uint64                // this one's number
	begun      int64                 // when, or 0 when nothing has been written in it
	fresh      list[*memtable.Entry] // written in this generation
	stale      list[*memtable.Entry] // written in the one before it
	first      uint64                // the file in which this generation began
	settling   *settling

	finder *pebble.Iterator // finds registers in Pebble as they are since the last change; nil when there is none
}

// generationAge is how long a generation lasts at most, once something has been written in it.
const generationAge = int64(15 * time.Second)

// settleJournal moves what an earlier life has left in the journal into Pebble.
func settleJournal(db *database.DB, j *journal.Journal) error {
	var r run
	void := func(p ring.Partition) error { return deleteRegisters(db, p) }
	err := j.Replay(func(payload []byte) error { return r.replay(payload, void) }, func() error { // a file at a time, as it was done before
		err := r.ingest(db)
		r = run{}
		return err
	})
	if err != nil {
		return err
	}
	return j.Release(math.MaxUint64, 0)
}

// newDiskTable opens the registers in db, with a journal that has been settled. boot is a number that no earlier life had.
func newDiskTable(db *database.DB, j *journal.Journal, cfg *Config, boot uint64, wake func()) (*diskTable, error) {
	t := &diskTable{
		db: db, journal: j, size: cfg.journalSize, wake: wake,
		entries: memtable.NewTables(cfg.Partitions), record: make([]byte, journal.RecordHead),
		generation: boot << 32,
	}
	err := t.begin()
	return t, err
}

// begin begins a generation with a file of its own, unless nothing was written in the file that there is.
func (t *diskTable) begin() error {
	t.generation++
	t.begun = 0
	if !t.journal.Fresh() {
		if err := t.journal.StartFile(t.generation); err != nil {
			return fmt.Errorf("begin a file of the journal: %w", err)
		}
	}
	t.first = t.journal.Number()
	return nil
}

func (t *diskTable) of(key []byte) *memtable.Table { return &t.entries[partitionOf(key)] }

func (t *diskTable) get(s *memtable.Slot) (register.Register, bool, error) {
	if s.Entry == nil { // one before may have made it
		*s = t.of(s.Key).Lookup(s.Key)
	}
	if s.Entry != nil {
		return s.Entry.Register, true, nil
	}
	return t.read(s.Key)
}

// read finds a register in Pebble.
func (t *diskTable) read(key []byte) (register.Register, bool, error) {
	if t.finder == nil {
		it, err := t.db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1},
			UseL6Filters: true, // most keys that are asked for are new
		})
		if err != nil {
			return register.Register{}, false, fmt.Errorf("read registers: %w", err)
		}
		t.finder = it
	}
	if !t.finder.SeekPrefixGE(key) || !bytes.Equal(t.finder.Key(), key) {
		return register.Register{}, false, t.finder.Error()
	}
	r, err := register.Decode(t.finder.Value())
	if err != nil {
		return register.Register{}, false, fmt.Errorf("read register %q: %w", key, err)
	}
	return r, true, nil
}

// changed says that Pebble is not as the finder sees it.
func (t *diskTable) changed() error {
	if t.finder == nil {
		return nil
	}
	err := t.finder.Close()
	t.finder = nil
	return err
}

func (t *diskTable) put(s *memtable.Slot, r register.Register) error {
	if s.Entry == nil {
		s.Entry = t.of(s.Key).Add(s)
	}
	e := s.Entry
	r.Aux = bytes.Clone(r.Aux)
	e.Register = r
	if e.Rotation != t.generation {
		e.Rotation = t.generation
		t.fresh.add(e)
	}
	t.value = r.Append(t.value[:0])
	t.record = appendWrite(t.record, s.Key, t.value)
	t.written++
	return nil
}

func (t *diskTable) commit() error {
	if len(t.record) == journal.RecordHead {
		return nil
	}
	if err := t.journal.Append(t.record); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if cap(t.record) > keepRecord {
		t.record = make([]byte, journal.RecordHead)
	}
	t.record = t.record[:journal.RecordHead]
	return nil
}

// keepRecord is how many bytes of room for a record are kept for the next one.
const keepRecord = 1 << 20

// sweep leaves out what is in memory: it is to be settled first. What Pebble has is then the newest. What is in memory is
// counted with the last piece.
func (t *diskTable) sweep(p ring.Partition, from []byte, part register.Partition, limit int) ([]byte, swept, error) {
	lower, upper := registersOf(p)
	if from != nil {
		lower = from
	}
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, swept{}, err
	}
	d := deletion{batch: t.db.NewBatch(), ranges: !t.settling.ingesting()}
	looked := 0
	var next []byte
	var seen swept
	for ok := it.First(); ok; ok = it.Next() {
		if looked++; looked > limit {
			next = bytes.Clone(it.Key())
			upper = next
			break
		}
		r, err := register.Decode(it.Value())
		switch {
		case err != nil:
		case r.Swept(part.Horizon) && t.entries[p].Lookup(it.Key()).Entry == nil:
			d.delete(it.Key())
		default:
			err = d.keep()
			if r.Inline && t.entries[p].Lookup(it.Key()).Entry == nil {
				seen.inline++
			}
		}
		if err != nil {
			return nil, seen, errors.Join(fmt.Errorf("sweep %q: %w", it.Key(), err), it.Close(), d.batch.Close())
		}
	}
	if next == nil {
		seen.inline += t.entries[p].Inline()
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil || d.count == 0 {
		return next, seen, errors.Join(err, d.batch.Close())
	}
	if err := d.end(lower, upper); err != nil {
		return nil, seen, errors.Join(err, d.batch.Close())
	}
	if err := d.batch.Set(partitionKey(p), part.Append(nil), nil); err != nil {
		return nil, seen, errors.Join(err, d.batch.Close())
	}
	seen.deleted = d.count
	return next, seen, errors.Join(d.batch.Commit(pebble.Sync), t.changed())
}

func (t *diskTable) export(p ring.Partition) ([]*memtable.Entry, *pebble.Iterator, error) {
	lower, upper := registersOf(p)
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, nil, fmt.Errorf("read registers: %w", err)
	}
	return slices.Collect(t.entries[p].All()), it, nil
}

// drop leaves behind what a settling holds of the partition, and says in the journal that what stands there before is void.
func (t *diskTable) drop(p ring.Partition) error {
	for e := range t.entries[p].All() {
		e.Rotation = 0 // none: no settling will take it
	}
	t.entries[p] = memtable.New()
	if t.settling != nil {
		t.settling.drop(p)
	}
	lower, _ := registersOf(p)
	t.record = appendWrite(t.record, lower, nil)
	return t.changed()
}

// tidy ends generations, and does what settling leaves to the committer.
func (t *diskTable) tidy(now int64) (more bool, err error) {
	if t.begun == 0 && (t.fresh.len() > 0 || t.stale.len() > 0) {
		t.begun = now
	}
	if t.settling != nil {
		return t.settle()
	}
	if t.journal.Size() < t.size {
		if t.begun == 0 || now-t.begun < generationAge {
			return false, nil
		}
		if err := t.journal.Trim(); err != nil {
			return false, fmt.Errorf("trim the journal: %w", err)
		}
	}
	t.settling = &settling{entries: t.stale, generation: t.generation - 1, needed: t.first}
	t.stale, t.fresh = t.fresh, list[*memtable.Entry]{}
	t.written = 0
	return true, t.begin()
}

func (t *diskTable) close() error {
	if t.settling != nil {
		t.settling.wait()
	}
	return errors.Join(t.changed(), t.journal.Close())
}
