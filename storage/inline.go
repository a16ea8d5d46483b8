package storage

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// DefaultInline is the default of Config.Inline.
const DefaultInline = 1_000_000

// An inlineCount counts the registers whose limit a request has defined. Any client that may check can invent such limits, and
// without a bound they would fill the disk. The count is not stored: every write of a register updates it, and the registers
// are counted again within seconds of the start and in every round of the sweeper. It may miss registers that were flushed
// while their partition was counted, until the next round, and in the first seconds those that were not counted yet.
type inlineCount struct {
	byPartition map[ring.Partition]int
	total       atomic.Int64

	partition ring.Partition // the one that is counted after the start
	from      []byte         // where to continue in it, or nil
	seen      int            // inline registers in it, so far
}

// countPause is the pause between two steps of the count after the start.
const countPause = 10 * time.Millisecond

// replaced counts a write: whether the register was inline before, and is after.
func (c *inlineCount) replaced(p ring.Partition, before, after bool) {
	switch {
	case before == after:
	case after:
		c.setPartition(p, c.byPartition[p]+1)
	default:
		c.setPartition(p, c.byPartition[p]-1)
	}
}

// setPartition sets the count of a partition.
func (c *inlineCount) setPartition(p ring.Partition, n int) {
	if c.byPartition == nil {
		c.byPartition = map[ring.Partition]int{}
	}
	n = max(n, 0)
	c.total.Add(int64(n - c.byPartition[p]))
	c.byPartition[p] = n
}

// countStep counts some of the registers that were there at the start, and reports whether there are more.
func (s *Store) countStep() (more bool, err error) {
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	c := &s.inline
	next, seen, err := s.engine.sweep(c.partition, c.from, register.Partition{Horizon: math.MinInt64}, sweepStepLen) // deletes nothing
	if err != nil {
		return false, err
	}
	c.seen += seen.inline
	if c.from = next; next != nil {
		return true, nil
	}
	c.setPartition(c.partition, c.seen)
	c.partition, c.seen = c.partition+1, 0
	return int(c.partition) < len(s.partitions), nil
}

// put replaces the register of a slot, which was before: the zero Register if there was none.
func (s *Store) put(p ring.Partition, at *memtable.Slot, before, after register.Register) error {
	if err := s.engine.put(at, after); err != nil {
		return err
	}
	s.inline.replaced(p, before.Inline, after.Inline)
	if of := s.changeLogs.byPartition[p]; of != nil {
		s.changeLogs.add(of, at.Entry)
	}
	return nil
}
