package storage

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// A copyState says how far the copy of a partition's registers has come since this start, on its way to Install.
type copyState byte

const (
	notCopying  copyState = iota
	copyStarted           // registers were merged
	copyVoid              // the partition was dropped after that
)

// mergeStepLen is how many registers one step of a merge covers.
const mergeStepLen = 1024

// Merge adds registers of a partition from other replicas: the register of each bucket becomes the join of the two. It may
// be called in any state of the partition, and does not change the state. The result is as durable on return as an accepted
// reservation. If Merge returns an error, some of the registers may have been merged. A Drop after the first Merge, even of
// no registers, makes the next Install fail.
func (s *Store) Merge(ctx context.Context, p ring.Partition, registers []Exported) error {
	if err := s.checkPartition(p); err != nil {
		return err
	}
	for i := range registers {
		if n := len(registers[i].Key); n > math.MaxUint16 {
			return fmt.Errorf("register %d has a key of %d bytes, which is too long", i, n)
		}
	}
	if len(registers) == 0 {
		return s.runStep(ctx, func() (int, error) { return s.merge(p, nil) })
	}
	for piece := range slices.Chunk(registers, mergeStepLen) {
		if err := s.runStep(ctx, func() (int, error) { return s.merge(p, piece) }); err != nil {
			return err
		}
	}
	return nil
}

// merge is a step of the committer.
func (s *Store) merge(p ring.Partition, registers []Exported) (writes int, err error) {
	s.copies[p] = max(s.copies[p], copyStarted)
	horizon := s.partition(p).Horizon
	for i := range registers {
		x := &registers[i]
		s.keys = registerKey(s.keys[:0], p, x.Key, x.Limit)
		at := s.engine.memtable(s.keys).Lookup(s.keys)
		mine, exists, err := s.engine.get(&at)
		if err != nil {
			return writes, err
		}
		joined := mine.Join(x.Register)
		if exists && joined.Generation == mine.Generation && joined.H == mine.H && joined.Expire == mine.Expire && joined.Version == mine.Version {
			continue
		}
		if joined.Swept(horizon) {
			continue
		}
		if err := s.put(p, &at, mine, joined); err != nil {
			return writes, err
		}
		writes++
	}
	return writes, nil
}
