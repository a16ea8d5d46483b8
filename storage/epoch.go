package storage

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// Found makes these partitions, or all if none is named, answer in the first epoch, without a register, unless they are in
// one already. Only those who found a cluster may, and only for the partitions that they keep: before them nothing was ever
// admitted, but whoever is no replica must not pass for one. A floor that Config.Restored has set stays. It is durable on
// return, and changes nothing when it is called again.
func (s *Store) Found(ctx context.Context, partitions ...ring.Partition) error {
	if len(partitions) == 0 {
		for i := range s.cfg.Partitions {
			partitions = append(partitions, ring.Partition(i))
		}
	}
	for _, p := range partitions {
		if err := s.exists(p); err != nil {
			return err
		}
	}
	return s.turn(ctx, func() (int, error) {
		for _, p := range partitions {
			if part := s.partition(p); part.Found() != part {
				s.stage(p, part.Found())
			}
		}
		return 0, nil
	})
}

// Confirm says that this disk was found to be no old copy of itself: no other node knows of a mark that is higher than
// MarkBefore. It is called before the others are told of this life's mark. What MarkBefore says in the next life is then
// the last mark of this one. It is durable on return.
//
// Without it, MarkBefore stays what it is, whatever is started and killed in between: else an old copy would be found out
// in its first life only.
func (s *Store) Confirm(ctx context.Context) error {
	return s.decideOnDisk(ctx, func() error {
		m := s.meta
		if m.confirmed == m.mark {
			return nil
		}
		m.confirmed = m.mark
		return s.writeMeta(m)
	})
}

// decideOnDisk has the committer call f, whose error is the disk's and ends the Store.
func (s *Store) decideOnDisk(ctx context.Context, f func() error) error {
	return s.turn(ctx, func() (int, error) { return 0, f() })
}

// Seal makes the partition accept nothing in that epoch any more, and returns its state. The epoch must be its present one,
// or the one before that for which it is installed, with all that was accepted in it.
// Whatever was accepted before is in what an Export that begins afterwards says. It is durable on return, in memory mode
// too, and changes nothing when it is called again. Its errors are ErrEpoch and ErrIncomplete, or that the Store has ended.
func (s *Store) Seal(ctx context.Context, p ring.Partition, epoch uint64) (register.Partition, error) {
	var sealed register.Partition
	err := s.change(ctx, p, func(part *register.Partition) error {
		after, ok := part.Seal(epoch)
		switch {
		case ok:
			*part, sealed = after, after
			return nil
		case part.Epoch == epoch && part.Incomplete:
			return fmt.Errorf("%w: partition %d was dropped in epoch %d", ErrIncomplete, p, epoch)
		}
		return wrongEpoch(p, *part, epoch)
	})
	if err != nil {
		return register.Partition{}, err
	}
	return sealed, nil
}

// wrongEpoch says that a partition is not in the epoch in which the caller wanted it.
func wrongEpoch(p ring.Partition, part register.Partition, epoch uint64) error {
	if part.Installed > 0 {
		return fmt.Errorf("%w: partition %d is in epoch %d and installed for %d, not in %d", ErrEpoch, p, part.Epoch, part.Installed, epoch)
	}
	return fmt.Errorf("%w: partition %d is in epoch %d, not %d", ErrEpoch, p, part.Epoch, epoch)
}

// Install says that the partition's registers are complete for that epoch: all of join's sources have been merged. From
// join, which register.Join has made, it takes the horizon and the floor, or that there is none. The partition is sealed
// in its present epoch if it was not, and answers in the new one after Enter only. It is durable on return, and does
// nothing if the partition is in that epoch already.
//
// The error is ErrEpoch if the partition is in a later epoch or installed for one, and ErrIncomplete if it was dropped
// since something was first merged into it: whoever copies it must begin anew.
func (s *Store) Install(ctx context.Context, p ring.Partition, epoch uint64, join register.Partition) error {
	return s.change(ctx, p, func(part *register.Partition) error {
		after, ok := part.Install(epoch, join)
		switch {
		case !ok:
			return wrongEpoch(p, *part, epoch)
		case part.Epoch == epoch:
			return nil
		}
		was := s.copying[p]
		if s.copying[p] = copyingNothing; was == copyingSpoiled {
			return fmt.Errorf("%w: partition %d was dropped while it was copied: copy it from the beginning", ErrIncomplete, p)
		}
		*part = after
		return nil
	})
}

// End makes every partition accept nothing any more, and take part in no epoch before those that a forced recovery is about
// to begin. Whatever was accepted was accepted before it returns. It is durable on return, in memory mode too, and changes
// nothing when it is called again.
func (s *Store) End(ctx context.Context) error {
	return s.turn(ctx, func() (int, error) {
		for i := range s.cfg.Partitions {
			p := ring.Partition(i)
			if part := s.partition(p); part.End() != part {
				s.stage(p, part.End())
			}
		}
		return 0, nil
	})
}

// EnterFloored makes a partition answer in an epoch that a forced recovery began, which knows nothing of what was accepted
// before: every bucket counts as emptied until the floor, or until the partition's own if that is later. It is durable on
// return, and does nothing if the partition is in that epoch already. The error is ErrEpoch if it is in a later epoch or
// installed for one.
func (s *Store) EnterFloored(ctx context.Context, p ring.Partition, epoch uint64, floor int64) error {
	return s.change(ctx, p, func(part *register.Partition) error {
		after, ok := part.EnterFloored(epoch, floor)
		switch {
		case !ok:
			return wrongEpoch(p, *part, epoch)
		case part.Epoch == epoch:
			return nil
		}
		s.copying[p] = copyingNothing
		*part = after
		return nil
	})
}

// Enter makes a partition that was installed for that epoch answer in it: the cluster has agreed on it. It is durable on
// return. If the partition is in that epoch already, nothing changes: one that was sealed stays sealed. Otherwise the
// error is ErrEpoch.
func (s *Store) Enter(ctx context.Context, p ring.Partition, epoch uint64) error {
	return s.change(ctx, p, func(part *register.Partition) error {
		after, ok := part.Enter(epoch)
		if !ok {
			return wrongEpoch(p, *part, epoch)
		}
		*part = after
		return nil
	})
}

// RaiseFloor raises the floors that a start had to set, of this life or an earlier one, to at least that time: to what
// the clocks of others say, plus the tolerated difference. It must be called before a node that is not alone answers
// anything. It is durable on return. If no start had to set a floor since it was called last, it does nothing.
func (s *Store) RaiseFloor(ctx context.Context, floor int64) error {
	return s.decideOnDisk(ctx, func() error {
		if !s.meta.floorDue {
			return nil
		}
		for i := range s.partitions {
			p := ring.Partition(i)
			if part := s.partition(p); part.Floored {
				part.Floor = max(part.Floor, floor)
				s.stage(p, part)
			}
		}
		m := s.meta
		m.floorDue = false
		if len(s.staged) > 0 { // it goes with them
			s.meta = m
			return nil
		}
		return s.writeMeta(m)
	})
}

// Drop deletes the registers of a partition that this node keeps no more. The partition stays sealed in its epoch, and
// nobody can take it for a source, until it is installed again. It is durable on return, and does nothing when it is
// called again.
func (s *Store) Drop(ctx context.Context, p ring.Partition) error {
	if err := s.exists(p); err != nil {
		return err
	}
	return s.turn(ctx, func() (int, error) {
		part := s.partition(p)
		if part.Incomplete {
			return 0, nil
		}
		part = part.Drop()
		// That it is incomplete must be durable no later than that a register is gone.
		b := s.db.NewBatch()
		lower, upper := registersOf(p)
		if err := b.Set(partitionKey(p), part.Append(nil), nil); err != nil {
			return 0, err
		}
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return 0, err
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return 0, err
		}
		s.stage(p, part)
		s.recordings.end(p)
		if s.copying[p] == copyingBegun {
			s.copying[p] = copyingSpoiled
		}
		s.inline.set(p, 0)
		return 1, s.table.drop(p)
	})
}
