package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// A memoryTable keeps registers in memory.
type memoryTable struct {
	partitions memtable.Tables
	bytes      atomic.Int64 // about what the registers take
}

// loadMemoryTable reads the registers that are on disk.
func loadMemoryTable(db *pebble.DB, partitions int) (*memoryTable, error) {
	t := &memoryTable{partitions: memtable.NewTables(partitions)}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1}})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		r, err := register.Decode(it.Value())
		if err == nil {
			s := t.of(it.Key()).Lookup(it.Key())
			err = t.put(&s, r)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read register %q: %w", it.Key(), err), it.Close())
		}
	}
	return t, errors.Join(it.Error(), it.Close())
}

func (t *memoryTable) of(key []byte) *memtable.Table { return &t.partitions[partitionOf(key)] }

func (t *memoryTable) get(s *memtable.Slot) (register.Register, bool, error) {
	if s.Entry == nil { // one before may have made it
		*s = t.of(s.Key).Lookup(s.Key)
	}
	if s.Entry == nil {
		return register.Register{}, false, nil
	}
	return s.Entry.Register, true, nil
}

func (t *memoryTable) put(s *memtable.Slot, r register.Register) error {
	if s.Entry == nil {
		s.Entry = t.of(s.Key).Add(s)
		t.bytes.Add(s.Entry.Bytes())
	}
	r.Aux = bytes.Clone(r.Aux)
	s.Entry.Register = r
	return nil
}

func (t *memoryTable) commit() error { return nil }

func (t *memoryTable) sweep(p ring.Partition, _ []byte, part register.Partition, _ int) ([]byte, swept, error) {
	es := &t.partitions[p]
	before := es.Len()
	for e := range es.All() {
		if e.Register.Swept(part.Horizon) {
			es.Remove(e)
			t.bytes.Add(-e.Bytes())
		}
	}
	es.Shrink()
	return nil, swept{deleted: before - es.Len(), inline: es.Inline()}, nil
}

func (t *memoryTable) export(p ring.Partition) ([]*memtable.Entry, *pebble.Iterator, error) {
	return slices.Collect(t.partitions[p].All()), nil, nil
}

func (t *memoryTable) drop(p ring.Partition) error {
	for e := range t.partitions[p].All() {
		t.bytes.Add(-e.Bytes())
	}
	t.partitions[p] = memtable.New()
	return nil
}

func (t *memoryTable) tidy(int64) (bool, error) { return false, nil }

func (t *memoryTable) close() error { return nil }

// save writes all registers to disk, in the place of those that are there, in batches of about that many bytes. Before
// it has returned, what is on disk is not complete.
func (t *memoryTable) save(db *pebble.DB, batchSize int) error {
	b := db.NewBatch()
	if err := b.DeleteRange([]byte{registerPrefix}, []byte{registerPrefix + 1}, nil); err != nil {
		return err
	}
	var value []byte
	for p := range t.partitions {
		for e := range t.partitions[p].All() {
			value = e.Register.Append(value[:0])
			if err := b.Set([]byte(e.Key), value, nil); err != nil {
				return err
			}
			if b.Len() < batchSize {
				continue
			}
			if err := b.Commit(pebble.Sync); err != nil {
				return err
			}
			b = db.NewBatch()
		}
	}
	return b.Commit(pebble.Sync)
}
