package storage

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// DefaultInline is how many registers of limits that requests define a node keeps at most, unless it is told otherwise.
const DefaultInline = 1_000_000

// An inlineCount is how many registers there are of limits that requests define. Whoever may check can invent such limits, so
// that without a bound they would fill the disk. Each register says whether it is one, so that the count needs no record of its
// own: every write of a register keeps it up to date, and it is counted anew within seconds of the start and in every round of
// the sweeper. It is off by no more than the registers that were settled while their partition was counted, until the next
// round, and in the first seconds by those that were not counted yet.
type inlineCount struct {
	by    map[ring.Partition]int
	total atomic.Int64

	at   ring.Partition // that is being counted after the start
	from []byte         // where to go on in it, or nil
	seen int            // in it, so far
}

// countPause is the pause between two pieces of the count after the start.
const countPause = 10 * time.Millisecond

// wrote notes that a register has taken the place of another one, or of none.
func (c *inlineCount) wrote(p ring.Partition, before, after bool) {
	switch {
	case before == after:
	case after:
		c.set(p, c.by[p]+1)
	default:
		c.set(p, c.by[p]-1)
	}
}

// set says how many a partition has.
func (c *inlineCount) set(p ring.Partition, n int) {
	if c.by == nil {
		c.by = map[ring.Partition]int{}
	}
	n = max(n, 0)
	c.total.Add(int64(n - c.by[p]))
	c.by[p] = n
}

// countOn counts a piece of what an earlier life has left, and says whether there is more.
func (s *Store) countOn() (more bool, err error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	c := &s.inline
	next, seen, err := s.table.sweep(c.at, c.from, register.Partition{Horizon: math.MinInt64}, sweepAtOnce) // nothing ends before that
	if err != nil {
		return false, err
	}
	c.seen += seen.inline
	if c.from = next; next != nil {
		return true, nil
	}
	c.set(c.at, c.seen)
	c.at, c.seen = c.at+1, 0
	return int(c.at) < len(s.partitions), nil
}

// put writes the register of a slot in the place of before, which is the zero Register if there is none.
func (s *Store) put(p ring.Partition, at *memtable.Slot, before, after register.Register) error {
	if err := s.table.put(at, after); err != nil {
		return err
	}
	s.inline.wrote(p, before.Inline, after.Inline)
	if of := s.recordings.of[p]; of != nil {
		s.recordings.note(of, at.Entry)
	}
	return nil
}
