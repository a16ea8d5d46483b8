package storage

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/memtable"
)

// A run collects registers that are to be flushed to Pebble. Of two states of one register the later one counts.
type run struct {
	items list[item]
	text  []byte // buffer of the values
}

type item struct {
	key   string // of a register: see registerKey
	value []byte
}

func (it *item) partition() ring.Partition { return partitionOf(it.key) }

func (r *run) add(e *memtable.Entry) {
	const bufferSize, maxEncoded = 64 << 10, 128 // bytes; of an encoded register without a ledger
	if cap(r.text)-len(r.text) < maxEncoded+len(e.Register.Ledger) {
		r.text = make([]byte, 0, bufferSize+len(e.Register.Ledger))
	}
	from := len(r.text)
	r.text = e.Register.Append(r.text)
	r.items.add(item{e.Key, r.text[from:len(r.text):len(r.text)]})
}

func (r *run) drop(p ring.Partition) {
	var rest list[item]
	for it := range r.items.all() {
		if it.partition() != p {
			rest.add(*it)
		}
	}
	r.items = rest
}

// replay adds the registers of a record of the journal. Where the record says that a partition was dropped, replay removes
// what was added of it before, and calls deletePartition, which deletes what Pebble has of it.
func (r *run) replay(payload []byte, deletePartition func(ring.Partition) error) error {
	text := bytes.Clone(payload)
	for len(text) > 0 {
		key, value, rest, err := cutWrite(text)
		if err != nil {
			return err
		}
		text = rest
		if p, ok := parsePartition(key); ok && len(value) == 0 {
			r.drop(p)
			if err := deletePartition(p); err != nil {
				return err
			}
			continue
		}
		if _, _, _, err = parseRegisterKey(key); err != nil {
			return err
		}
		r.items.add(item{string(key), value})
	}
	return nil
}

// sorted yields the items in the order of their keys, each key once. A key begins with its partition: the items are
// grouped by it first, so that each group that is then sorted fits the processor's caches.
func (r *run) sorted() iter.Seq[item] {
	order, ends := r.byPartition()
	from := 0
	for _, end := range ends {
		slices.SortFunc(order[from:end], func(a, b uint32) int {
			if c := strings.Compare(r.items.at(int(a)).key, r.items.at(int(b)).key); c != 0 {
				return c
			}
			return cmp.Compare(a, b)
		})
		from = end
	}
	return func(yield func(item) bool) {
		for i, at := range order {
			it := r.items.at(int(at))
			if i+1 < len(order) && r.items.at(int(order[i+1])).key == it.key {
				continue
			}
			if !yield(*it) {
				return
			}
		}
	}
}

// byPartition returns the indices of the items, grouped by partition, and where the group of each partition ends.
func (r *run) byPartition() (order []uint32, ends []int) {
	ends = make([]int, maxPartitions)
	for it := range r.items.all() {
		ends[it.partition()]++
	}
	sum := 0
	for p, n := range ends {
		ends[p] = sum // for now where the group begins
		sum += n
	}
	order = make([]uint32, sum)
	at := uint32(0)
	for it := range r.items.all() {
		end := &ends[it.partition()]
		order[*end] = at
		*end++
		at++
	}
	return order, ends
}

// ingest adds the run to the database. It is durable on return.
func (r *run) ingest(db *database.DB) error {
	if r.items.len() == 0 {
		return nil
	}
	err := db.Ingest(func(yield func(string, []byte) bool) {
		for it := range r.sorted() {
			if !yield(it.key, it.value) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("flush registers: %w", err)
	}
	return nil
}
