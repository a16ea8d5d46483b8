package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/memtable"
)

// A settling moves the entries of a generation into Pebble, in three steps, a piece at a time so that checks get their
// turn: those that were not written again are collected; a goroutine of its own sorts them, writes the table and hands it
// to Pebble; then they are forgotten, and with them the files of the journal that say nothing else.
type settling struct {
	entries    list[*memtable.Entry]
	generation uint64
	needed     uint64 // the first file of the journal that is needed afterwards

	at   int // entries before this index have had this step
	run  run
	done chan struct{} // nil at first; closed when the run is in Pebble, or err says why not
	err  error

	dropped []ring.Partition // while the run was on its way: what is in it of these must go again
}

// Before checks get their turn, so many entries have their step, and a few more for each register that was written
// meanwhile: however fast registers are written, settling keeps up.
const (
	entriesAtOnce   = 512
	entriesForWrite = 4
)

// backlog is how many files of the journal a generation may fill before commits wait for the settling of an earlier one.
const backlog = 2

// wait returns when the run is in Pebble, or could not be brought there. That may be never when the disk has failed.
func (s *settling) wait() {
	if s.done != nil {
		<-s.done
	}
}

// ingesting says whether Pebble may be getting registers that an iterator does not see. Settling may be nil.
func (s *settling) ingesting() bool { return s != nil && s.done != nil }

// drop leaves out what is in the run of a partition.
func (s *settling) drop(p ring.Partition) {
	if s.done == nil {
		s.run.drop(p)
	} else {
		s.dropped = append(s.dropped, p)
	}
}

// settle does a piece of the settling that is under way, and says whether the next one can follow.
func (t *diskTable) settle() (more bool, err error) {
	s := t.settling
	end := min(s.at+entriesAtOnce+entriesForWrite*t.written, s.entries.len())
	t.written = 0
	if s.done == nil {
		for ; s.at < end; s.at++ {
			if e := *s.entries.at(s.at); e.Rotation == s.generation {
				s.run.add(e)
			}
		}
		if end == s.entries.len() {
			s.at = 0
			t.ingestApart(s)
			return false, nil
		}
		return true, nil
	}
	if t.journal.Size() > backlog*t.size {
		s.wait()
	}
	select {
	case <-s.done:
	default:
		return false, nil
	}
	if s.err != nil {
		return false, s.err
	}
	if s.at == 0 {
		if err := errors.Join(t.changed(), deleteRegisters(t.db, s.dropped...)); err != nil {
			return false, err
		}
		s.dropped = nil
	}
	for ; s.at < end; s.at++ {
		if e := *s.entries.at(s.at); e.Rotation == s.generation {
			t.entries[partitionOf(e.Key)].Remove(e)
		}
	}
	if end < s.entries.len() {
		return true, nil
	}
	t.settling = nil
	t.entries.Shrink()
	spare := 0
	if t.journal.Size() > 0 {
		spare = 1
	}
	return true, t.journal.Release(s.needed, spare)
}

// ingestApart has the run ingested on a goroutine of its own, which close waits for. Where the disk fails, Pebble may
// end that goroutine, or let it wait for ever; the Store has ended then.
func (t *diskTable) ingestApart(s *settling) {
	s.done = make(chan struct{})
	s.err = errors.New("the registers could not be settled")
	go func() {
		defer t.wake()
		defer close(s.done)
		s.err = s.run.ingest(t.db)
	}()
}

// A run is a number of registers on their way into Pebble. Where one stands twice, the later one counts.
type run struct {
	items list[item]
	text  []byte // room for values
}

type item struct {
	key   string // of a register: see registerKey
	value []byte
}

func (it *item) partition() int { return int(it.key[1])<<8 | int(it.key[2]) }

func (r *run) add(e *memtable.Entry) {
	const room, most = 64 << 10, 128 // bytes; an encoded register has no more, but for aux
	if cap(r.text)-len(r.text) < most+len(e.Register.Aux) {
		r.text = make([]byte, 0, room+len(e.Register.Aux))
	}
	from := len(r.text)
	r.text = e.Register.Append(r.text)
	r.items.add(item{e.Key, r.text[from:len(r.text):len(r.text)]})
}

func (r *run) drop(p ring.Partition) {
	var rest list[item]
	for it := range r.items.all() {
		if it.partition() != int(p) {
			rest.add(*it)
		}
	}
	r.items = rest
}

// replay adds what a record of the journal says. Where it says that a partition was dropped, what was added of it before
// is left out, and void is called: it deletes what is in Pebble.
func (r *run) replay(payload []byte, void func(ring.Partition) error) error {
	text := bytes.Clone(payload)
	for len(text) > 0 {
		key, value, rest, err := cutWrite(text)
		if err != nil {
			return err
		}
		text = rest
		if p, ok := parsePartition(key); ok && len(value) == 0 {
			r.drop(p)
			if err := void(p); err != nil {
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

// sorted yields the items in the order of their keys, each key once. A key begins with its partition: the items are dealt
// out by that first, and what is then sorted fits the processor's caches.
func (r *run) sorted() iter.Seq[item] {
	order, ends := r.dealt()
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

// dealt are the indices of the items, those of each partition together, and for each partition where they end.
func (r *run) dealt() (order []uint32, ends []int) {
	ends = make([]int, maxPartitions)
	for it := range r.items.all() {
		ends[it.partition()]++
	}
	sum := 0
	for p, n := range ends {
		ends[p] = sum // for now where they begin
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

// ingest makes a run a part of the database: on return that is durable.
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
		return fmt.Errorf("settle registers: %w", err)
	}
	return nil
}
