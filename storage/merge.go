package storage

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// copying says how far a partition is on its way to Install, in this life.
type copying byte

const (
	copyingNothing copying = iota
	copyingBegun           // something was merged
	copyingSpoiled         // it was dropped after that
)

// mergeAtOnce is how many registers are merged before checks get their turn.
const mergeAtOnce = 1024

// Merge takes in what other replicas have of a partition: of each bucket's register there and here, the join is kept. It
// may be called in any state of the partition, and changes none. It is as durable on return as an accepted reservation.
// If it returns an error, some of the registers may have been taken in. From the first Merge on, of no registers too, a
// Drop is remembered until the next Install, which it makes fail.
func (s *Store) Merge(ctx context.Context, p ring.Partition, registers []Exported) error {
	if err := s.exists(p); err != nil {
		return err
	}
	for i := range registers {
		if n := len(registers[i].Key); n > math.MaxUint16 {
			return fmt.Errorf("register %d has a key of %d bytes, which is too long", i, n)
		}
	}
	if len(registers) == 0 {
		return s.turn(ctx, func() (int, error) { return s.merge(p, nil) })
	}
	for piece := range slices.Chunk(registers, mergeAtOnce) {
		if err := s.turn(ctx, func() (int, error) { return s.merge(p, piece) }); err != nil {
			return err
		}
	}
	return nil
}

// merge is a step.
func (s *Store) merge(p ring.Partition, registers []Exported) (writes int, err error) {
	s.copying[p] = max(s.copying[p], copyingBegun)
	horizon := s.partition(p).Horizon
	for i := range registers {
		x := &registers[i]
		s.keys = registerKey(s.keys[:0], p, x.Key, x.Limit)
		at := s.table.of(s.keys).Lookup(s.keys)
		mine, exists, err := s.table.get(&at)
		if err != nil {
			return writes, err
		}
		joined := mine.Join(x.Register)
		if exists && joined.Generation == mine.Generation && joined.H == mine.H && joined.Expire == mine.Expire {
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
