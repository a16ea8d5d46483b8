package storage

import (
	"bytes"
	"errors"
	"fmt"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A memoryTable keeps registers in memory.
type memoryTable struct {
	partitions map[ring.Partition]map[string]*register.Register

	// Of the last get.
	key []byte
	at  *register.Register
}

// loadMemoryTable reads the registers that are on disk.
func loadMemoryTable(db *pebble.DB) (*memoryTable, error) {
	t := &memoryTable{partitions: map[ring.Partition]map[string]*register.Register{}}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1}})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		r, err := register.Decode(it.Value())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read register %q: %w", it.Key(), err), it.Close())
		}
		t.of(it.Key())[string(it.Key())] = &r
	}
	return t, errors.Join(it.Error(), it.Close())
}

// of is the map that holds a register key.
func (t *memoryTable) of(key []byte) map[string]*register.Register {
	p := ring.Partition(key[1])<<8 | ring.Partition(key[2])
	m, ok := t.partitions[p]
	if !ok {
		m = map[string]*register.Register{}
		t.partitions[p] = m
	}
	return m
}

func (t *memoryTable) get(key []byte) (register.Register, bool, error) {
	t.key, t.at = key, t.of(key)[string(key)]
	if t.at == nil {
		return register.Register{}, false, nil
	}
	return *t.at, true, nil
}

func (t *memoryTable) put(r register.Register) error {
	r.Aux = bytes.Clone(r.Aux)
	if t.at != nil {
		*t.at = r
	} else {
		first := r
		t.of(t.key)[string(t.key)] = &first
	}
	return nil
}

func (t *memoryTable) commit() error { return nil }

func (t *memoryTable) sweep(p ring.Partition, _ []byte, part register.Partition, _ int) ([]byte, int, error) {
	m := t.partitions[p]
	before := len(m)
	maps.DeleteFunc(m, func(_ string, r *register.Register) bool { return r.Swept(part.Horizon) })
	deleted := before - len(m)
	if deleted > before/2 { // a map keeps the room of what was in it
		t.partitions[p] = maps.Clone(m)
	}
	return nil, deleted, nil
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
	for _, m := range t.partitions {
		for key, r := range m {
			value = r.Append(value[:0])
			if err := b.Set([]byte(key), value, nil); err != nil {
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
