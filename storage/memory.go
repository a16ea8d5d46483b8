package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A memoryTable keeps registers in memory.
type memoryTable struct {
	partitions shelves
	bytes      atomic.Int64 // about what the registers take
}

// loadMemoryTable reads the registers that are on disk.
func loadMemoryTable(db *pebble.DB, partitions int) (*memoryTable, error) {
	t := &memoryTable{partitions: newShelves(partitions)}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1}})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		r, err := register.Decode(it.Value())
		if err == nil {
			s := t.of(it.Key()).at(it.Key())
			err = t.put(&s, r)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read register %q: %w", it.Key(), err), it.Close())
		}
	}
	return t, errors.Join(it.Error(), it.Close())
}

func (t *memoryTable) of(key []byte) *entries { return t.partitions.of(key) }

func (t *memoryTable) get(s *slot) (register.Register, bool, error) {
	if s.entry == nil { // one before may have made it
		*s = t.of(s.key).at(s.key)
	}
	if s.entry == nil {
		return register.Register{}, false, nil
	}
	return s.entry.register, true, nil
}

func (t *memoryTable) put(s *slot, r register.Register) error {
	if s.entry == nil {
		s.entry = t.of(s.key).add(s)
		t.bytes.Add(s.entry.bytes())
	}
	r.Aux = bytes.Clone(r.Aux)
	s.entry.register = r
	return nil
}

func (t *memoryTable) commit() error { return nil }

func (t *memoryTable) sweep(p ring.Partition, _ []byte, part register.Partition, _ int) ([]byte, swept, error) {
	es := &t.partitions[p]
	before := es.len()
	for e := range es.all() {
		if e.register.Swept(part.Horizon) {
			es.remove(e)
			t.bytes.Add(-e.bytes())
		}
	}
	es.shrink()
	return nil, swept{deleted: before - es.len(), inline: es.inline()}, nil
}

func (t *memoryTable) export(p ring.Partition) ([]*entry, *pebble.Iterator, error) {
	return slices.Collect(t.partitions[p].all()), nil, nil
}

func (t *memoryTable) drop(p ring.Partition) error {
	for e := range t.partitions[p].all() {
		t.bytes.Add(-e.bytes())
	}
	t.partitions[p] = newEntries()
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
		for e := range t.partitions[p].all() {
			value = e.register.Append(value[:0])
			if err := b.Set([]byte(e.key), value, nil); err != nil {
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
