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

// A table holds registers by their key. Only the committer uses it.
type table interface {
	// get finds a register, one that was put since the last commit included.
	get(key []byte) (r register.Register, exists bool, err error)
	// put writes a register, and keeps neither key nor what r refers to.
	put(key []byte, r register.Register) error
	// commit makes everything durable that was put since the last commit, as durable as this table makes anything.
	commit() error
	// sweep deletes, from key on, registers of a partition that are spent at the horizon, up to about limit looked at. It
	// says where to go on, or nil when it has seen the whole partition.
	sweep(p ring.Partition, from []byte, horizon int64, limit int) (next []byte, deleted int, err error)
	// horizon writes a partition whose horizon has been raised. It becomes durable no later than what is swept.
	horizon(p ring.Partition, part register.Partition) error
}

// A diskTable keeps registers in Pebble.
type diskTable struct {
	db      *pebble.DB
	batch   *pebble.Batch
	written map[string]register.Register // what is in batch
	value   []byte                       // scratch
}

func newDiskTable(db *pebble.DB) *diskTable {
	return &diskTable{db: db, batch: db.NewBatch(), written: map[string]register.Register{}}
}

func (t *diskTable) get(key []byte) (register.Register, bool, error) {
	if r, ok := t.written[string(key)]; ok {
		return r, true, nil
	}
	v, closer, err := t.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return register.Register{}, false, nil
	}
	if err != nil {
		return register.Register{}, false, fmt.Errorf("read register: %w", err)
	}
	r, err := register.Decode(v)
	if err := errors.Join(err, closer.Close()); err != nil {
		return register.Register{}, false, fmt.Errorf("read register %q: %w", key, err)
	}
	return r, true, nil
}

func (t *diskTable) put(key []byte, r register.Register) error {
	t.value = r.Append(t.value[:0])
	t.written[string(key)] = r
	return t.batch.Set(key, t.value, nil)
}

// commit writes the batch and waits for its fsync. Pebble shows a batch to readers before that, so nobody but the
// committer, which waits here, may answer from what it reads.
func (t *diskTable) commit() error {
	if err := t.batch.Commit(commitSync); err != nil {
		return err
	}
	t.batch.Reset()
	clear(t.written)
	return nil
}

func (t *diskTable) sweep(p ring.Partition, from []byte, horizon int64, limit int) ([]byte, int, error) {
	lower, upper := registersOf(p)
	if from != nil {
		lower = from
	}
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, 0, err
	}
	deleted, looked := 0, 0
	var next []byte
	for ok := it.First(); ok; ok = it.Next() {
		if looked++; looked > limit {
			next = append([]byte(nil), it.Key()...)
			break
		}
		r, err := register.Decode(it.Value())
		if err == nil && r.Swept(horizon) {
			deleted++
			err = t.batch.Delete(it.Key(), nil)
		}
		if err != nil {
			return nil, deleted, errors.Join(fmt.Errorf("sweep %q: %w", it.Key(), err), it.Close())
		}
	}
	return next, deleted, errors.Join(it.Error(), it.Close())
}

func (t *diskTable) horizon(p ring.Partition, part register.Partition) error {
	return t.batch.Set(partitionKey(p), part.Append(nil), nil)
}

// A memoryTable keeps registers in memory.
type memoryTable struct {
	partitions map[ring.Partition]map[string]register.Register
}

// loadMemoryTable reads the registers that are on disk.
func loadMemoryTable(db *pebble.DB) (*memoryTable, error) {
	t := &memoryTable{partitions: map[ring.Partition]map[string]register.Register{}}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1}})
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		r, err := register.Decode(it.Value())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read register %q: %w", it.Key(), err), it.Close())
		}
		t.of(it.Key())[string(it.Key())] = r
	}
	return t, errors.Join(it.Error(), it.Close())
}

// of is the map that holds a register key.
func (t *memoryTable) of(key []byte) map[string]register.Register {
	p := ring.Partition(key[1])<<8 | ring.Partition(key[2])
	m, ok := t.partitions[p]
	if !ok {
		m = map[string]register.Register{}
		t.partitions[p] = m
	}
	return m
}

func (t *memoryTable) get(key []byte) (register.Register, bool, error) {
	r, ok := t.of(key)[string(key)]
	return r, ok, nil
}

func (t *memoryTable) put(key []byte, r register.Register) error {
	r.Aux = bytes.Clone(r.Aux)
	t.of(key)[string(key)] = r
	return nil
}

func (t *memoryTable) commit() error { return nil }

func (t *memoryTable) sweep(p ring.Partition, _ []byte, horizon int64, _ int) ([]byte, int, error) {
	m := t.partitions[p]
	before := len(m)
	maps.DeleteFunc(m, func(_ string, r register.Register) bool { return r.Swept(horizon) })
	return nil, before - len(m), nil
}

func (t *memoryTable) horizon(ring.Partition, register.Partition) error { return nil }

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
