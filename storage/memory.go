package storage

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// A memoryEngine keeps registers in memory only.
type memoryEngine struct {
	memtables memtable.Tables
	bytes     atomic.Int64 // about how much memory the registers take
}

// loadMemoryEngine reads the registers that are on disk.
func loadMemoryEngine(db *pebble.DB, partitions int) (*memoryEngine, error) {
	m := &memoryEngine{memtables: memtable.NewTables(partitions)}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1}})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		r, err := register.Decode(it.Value())
		if err == nil {
			s := m.memtable(it.Key()).Lookup(it.Key())
			err = m.put(&s, r)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read register %q: %w", it.Key(), err), it.Close())
		}
	}
	return m, errors.Join(it.Error(), it.Close())
}

func (m *memoryEngine) memtable(key []byte) *memtable.Table { return &m.memtables[partitionOf(key)] }

func (m *memoryEngine) get(s *memtable.Slot) (register.Register, bool, error) {
	if s.Entry == nil { // an earlier reservation of the batch may have added it
		*s = m.memtable(s.Key).Lookup(s.Key)
	}
	if s.Entry == nil {
		return register.Register{}, false, nil
	}
	return s.Entry.Register, true, nil
}

func (m *memoryEngine) put(s *memtable.Slot, r register.Register) error {
	if s.Entry == nil {
		s.Entry = m.memtable(s.Key).Add(s)
		m.bytes.Add(s.Entry.Bytes())
	}
	m.bytes.Add(s.Entry.Set(r))
	return nil
}

func (m *memoryEngine) commit() error { return nil }

func (m *memoryEngine) sweep(p ring.Partition, _ []byte, part register.Partition, _ int) ([]byte, sweepResult, error) {
	es := &m.memtables[p]
	before := es.Len()
	for e := range es.All() {
		if e.Register.Swept(part.Horizon) {
			es.Remove(e)
			m.bytes.Add(-e.Bytes())
		}
	}
	es.Shrink()
	return nil, sweepResult{deleted: before - es.Len(), inline: es.Inline()}, nil
}

func (m *memoryEngine) export(p ring.Partition) ([]*memtable.Entry, *pebble.Iterator, error) {
	return slices.Collect(m.memtables[p].All()), nil, nil
}

func (m *memoryEngine) drop(p ring.Partition) error {
	for e := range m.memtables[p].All() {
		m.bytes.Add(-e.Bytes())
	}
	m.memtables[p] = memtable.New()
	return nil
}

func (m *memoryEngine) maintain(int64) (bool, error) { return false, nil }

func (m *memoryEngine) close() error { return nil }

// save replaces the registers on disk by those in memory, in batches of about batchSize bytes. Until it returns, those on
// disk are incomplete.
func (m *memoryEngine) save(db *pebble.DB, batchSize int) error {
	b := db.NewBatch()
	if err := b.DeleteRange([]byte{registerPrefix}, []byte{registerPrefix + 1}, nil); err != nil {
		return err
	}
	var value []byte
	for p := range m.memtables {
		for e := range m.memtables[p].All() {
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
