package storage

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// A sweepResult counts what a sweep has seen.
type sweepResult struct {
	deleted int // registers
	inline  int // registers of limits that requests define, among those that were not deleted
}

// sweepStepLen is how many registers one step of a sweep looks at.
const sweepStepLen = 4096

// An engine holds registers by their key: diskEngine or memoryEngine. It is used by one goroutine at a time.
type engine interface {
	// memtable returns the memtable of the key's partition.
	memtable(key []byte) *memtable.Table
	// get finds the register of a slot, including one that was put since the last commit.
	get(s *memtable.Slot) (r register.Register, exists bool, err error)
	// put writes the register of a slot that get was called with. It does not keep the slot's key.
	put(s *memtable.Slot, r register.Register) error
	// commit makes what was put since the last commit as durable as this engine makes anything.
	commit() error
	// sweep deletes registers of a partition that are spent at part's horizon. It starts at key from, and looks at about
	// limit registers. If it deletes any, it writes part in the same durable batch. next is where to continue, or nil at the
	// end of the partition.
	sweep(p ring.Partition, from []byte, part register.Partition, limit int) (next []byte, seen sweepResult, err error)
	// export returns the registers of a partition at this moment: the entries in memory, which later writes may change, and
	// an iterator over those on disk, or nil. If a register is in both, the one in memory is newer.
	export(p ring.Partition) ([]*memtable.Entry, *pebble.Iterator, error)
	// drop removes the registers of a partition from memory. The caller has deleted those in Pebble. After the next commit
	// no restart brings them back.
	drop(p ring.Partition) error
	// maintain does the next step of background work at the time now, and reports whether another can follow at once.
	maintain(now int64) (more bool, err error)
	// close ends the background work. The registers stay where they are.
	close() error
}
