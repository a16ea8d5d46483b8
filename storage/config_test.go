package storage

import (
	"fmt"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A smaller memory budget makes a smaller cache and journal, within their bounds.
func TestMemoryBudget(t *testing.T) {
	last := Config{Memory: 1}
	last.shareMemory()
	if last.cacheSize != minCache || last.journalSize != minJournal {
		t.Errorf("of one byte: %+v", last)
	}
	for memory := int64(1 << 20); memory < 8<<30; memory *= 2 {
		c := Config{Memory: memory}
		c.shareMemory()
		if c.cacheSize < last.cacheSize || c.journalSize < last.journalSize {
			t.Errorf("of %d bytes a Store takes %d and %d, of less %d and %d", memory, c.cacheSize, c.journalSize, last.cacheSize, last.journalSize)
		}
		if takes := c.cacheSize + memoryPerJournalByte*c.journalSize; memory >= 32<<20 && takes > memory {
			t.Errorf("of %d bytes a Store takes %d", memory, takes)
		}
		if OffHeap(memory) <= c.cacheSize {
			t.Errorf("of %d bytes %d are beside Go's, and the cache has %d", memory, OffHeap(memory), c.cacheSize)
		}
		last = c
	}
	plenty := Config{}
	plenty.shareMemory()
	if plenty.cacheSize != maxCache || plenty.journalSize != maxJournal || last.cacheSize != maxCache || last.journalSize != maxJournal {
		t.Errorf("where memory is plenty: %+v, %+v", plenty, last)
	}
}

// Registers in memory are counted with their size until they are swept or dropped. Beyond the budget they are still written,
// since no register may be forgotten.
func TestFull(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, inMemory, func(c *Config) { c.Memory = 64 << 10 })
	if s.Full() {
		t.Error("full with nothing in it")
	}
	var rs []register.Reservation
	for i := range 500 {
		rs = append(rs, r.segment(fmt.Sprint("user:", i), epoch, epoch+10))
	}
	accepted(t, s, rs...)
	if !s.Full() {
		t.Error("not full with 500 registers in 64 KiB")
	}
	accepted(t, s, r.segment("one more", epoch, epoch+10))
	table := s.engine.(*memoryEngine)
	sum := int64(0)
	for p := range table.memtables {
		for e := range table.memtables[p].All() {
			sum += e.Bytes()
		}
	}
	if got := table.bytes.Load(); got != sum {
		t.Errorf("%d bytes are counted of %d", got, sum)
	}
	for p := range table.memtables {
		if err := s.Drop(t.Context(), ring.Partition(p)); err != nil {
			t.Fatal(err)
		}
	}
	if got := table.bytes.Load(); got != 0 || s.Full() {
		t.Errorf("%d bytes are counted when all are dropped", got)
	}
}
