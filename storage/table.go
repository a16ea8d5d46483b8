package storage

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// swept is what a sweep has seen.
type swept struct {
	deleted int // registers that are gone
	inline  int // registers of limits that requests define, among those that stay
}

// A table holds registers by their key. It is used by one goroutine at a time.
type table interface {
	// of are the entries among which the register with that key is, if it is in memory.
	of(key []byte) *memtable.Table
	// get finds the register of a slot, one that was put since the last commit included.
	get(s *memtable.Slot) (r register.Register, exists bool, err error)
	// put writes the register of a slot that get was called with, and keeps neither its key nor what r refers to.
	put(s *memtable.Slot, r register.Register) error
	// commit makes everything durable that was put since the last commit, as durable as this table makes anything.
	commit() error
	// sweep deletes, from key on, registers of a partition that are spent at part's horizon, up to about limit looked at.
	// If there are any, part becomes durable together with their end. It says where to go on, or nil when it has seen the
	// whole partition.
	sweep(p ring.Partition, from []byte, part register.Partition, limit int) (next []byte, seen swept, err error)
	// export are the registers of a partition as they stand, from now on: those in memory, which may change all the same, and
	// an iterator over those on the disk; nil if there are none. Where one is in both, the one in memory counts.
	export(p ring.Partition) ([]*memtable.Entry, *pebble.Iterator, error)
	// drop forgets the registers of a partition, of which those on the disk have been deleted. After the next commit they do
	// not come back.
	drop(p ring.Partition) error
	// tidy does a piece of what keeps the table in order, at the time now, and says whether there is more to do at once.
	tidy(now int64) (more bool, err error)
	// close ends what the table does in the background. The registers stay where they are.
	close() error
}
