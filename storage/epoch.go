package storage

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// Found makes these partitions, or all if none is named, answer in the first epoch, without a register, unless they are in
// an epoch already. Only the founding nodes of a cluster may call it, and only for partitions whose replicas they are: no
// check was admitted before. A floor that Config.Restored has set stays. It is durable on return, and calling it again
// changes nothing.
func (s *Store) Found(ctx context.Context, partitions ...ring.Partition) error {
	if len(partitions) == 0 {
		for i := range s.cfg.Partitions {
			partitions = append(partitions, ring.Partition(i))
		}
	}
	for _, p := range partitions {
		if err := s.checkPartition(p); err != nil {
			return err
		}
	}
	return s.runStep(ctx, func() (int, error) {
		for _, p := range partitions {
			if part := s.partition(p); part.Found() != part {
				s.stage(p, part.Found())
			}
		}
		return 0, nil
	})
}

// Confirm records that this disk is no old copy of itself: no other node knows a mark higher than MarkBefore. The caller
// calls it before it sends the present mark to other nodes. At the next start, MarkBefore is the last mark of this process.
// It is durable on return.
//
// Without Confirm, MarkBefore does not change however often the node is started and killed: otherwise an old copy would be
// detected at its first start only.
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

// decideOnDisk has the committer call f, whose error ends the Store.
func (s *Store) decideOnDisk(ctx context.Context, f func() error) error {
	return s.runStep(ctx, func() (int, error) { return 0, f() })
}

// Seal makes the partition accept no more reservations in that epoch, and returns its state. The epoch must be its present
// one, or the one before that for which it is installed, whose registers it then holds. An Export that begins afterwards
// contains all that was accepted. It is durable on return, in memory mode too, and calling it again changes nothing. Its
// errors are ErrEpoch and ErrIncomplete, or that the Store has ended.
func (s *Store) Seal(ctx context.Context, p ring.Partition, epoch uint64) (register.Partition, error) {
	var sealed register.Partition
	err := s.changePartition(ctx, p, func(part *register.Partition) error {
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

// wrongEpoch is the ErrEpoch of a partition that is not in that epoch.
func wrongEpoch(p ring.Partition, part register.Partition, epoch uint64) error {
	if part.Installed > 0 {
		return fmt.Errorf("%w: partition %d is in epoch %d and installed for %d, not in %d", ErrEpoch, p, part.Epoch, part.Installed, epoch)
	}
	return fmt.Errorf("%w: partition %d is in epoch %d, not %d", ErrEpoch, p, part.Epoch, epoch)
}

// Install records that the partition's registers are complete for that epoch: the caller has merged those of all sources of
// join. The horizon and the floor, if any, are those of join, which register.Join has computed. The partition is sealed in
// its present epoch, and answers in the new one only after Enter. It is durable on return, and does nothing if the partition
// is in that epoch already.
//
// The error is ErrEpoch if the partition is in a later epoch or installed for one, and ErrIncomplete if it was dropped since
// the first Merge: the caller must copy it again from the beginning.
func (s *Store) Install(ctx context.Context, p ring.Partition, epoch uint64, join register.Partition) error {
	return s.changePartition(ctx, p, func(part *register.Partition) error {
		after, ok := part.Install(epoch, join)
		switch {
		case !ok:
			return wrongEpoch(p, *part, epoch)
		case part.Epoch == epoch:
			return nil
		}
		was := s.copies[p]
		if s.copies[p] = notCopying; was == copyVoid {
			return fmt.Errorf("%w: partition %d was dropped while it was copied: copy it from the beginning", ErrIncomplete, p)
		}
		*part = after
		return nil
	})
}

// End makes all partitions accept no more reservations, and take part in no epoch before those that a forced recovery is
// about to begin. It is durable on return, in memory mode too, and calling it again changes nothing.
func (s *Store) End(ctx context.Context) error {
	return s.runStep(ctx, func() (int, error) {
		for i := range s.cfg.Partitions {
			p := ring.Partition(i)
			if part := s.partition(p); part.End() != part {
				s.stage(p, part.End())
			}
		}
		return 0, nil
	})
}

// EnterFloored makes a partition answer in an epoch that a forced recovery began. What was accepted before is unknown: every
// bucket counts as emptied until the floor, or until the partition's own floor if that is later. It is durable on return, and
// does nothing if the partition is in that epoch already. The error is ErrEpoch if it is in a later epoch or installed for
// one.
func (s *Store) EnterFloored(ctx context.Context, p ring.Partition, epoch uint64, floor int64) error {
	return s.changePartition(ctx, p, func(part *register.Partition) error {
		after, ok := part.EnterFloored(epoch, floor)
		switch {
		case !ok:
			return wrongEpoch(p, *part, epoch)
		case part.Epoch == epoch:
			return nil
		}
		s.copies[p] = notCopying
		*part = after
		return nil
	})
}

// Enter makes a partition that is installed for that epoch answer in it: the cluster has agreed on it. It is durable on
// return. It does nothing if the partition is in that epoch already, sealed or not. Otherwise the error is ErrEpoch.
func (s *Store) Enter(ctx context.Context, p ring.Partition, epoch uint64) error {
	return s.changePartition(ctx, p, func(part *register.Partition) error {
		after, ok := part.Enter(epoch)
		if !ok {
			return wrongEpoch(p, *part, epoch)
		}
		*part = after
		return nil
	})
}

// RaiseFloor raises the floors that this or an earlier start had to set, to at least that time: to what the clocks of other
// nodes say, plus the tolerated difference. A node that is not alone must call it before it answers anything. It is durable
// on return. It does nothing if no start had to set a floor since it was last called.
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
		if len(s.staged) > 0 { // writeStaged writes it
			s.meta = m
			return nil
		}
		return s.writeMeta(m)
	})
}

// Drop deletes the registers of a partition of which this node is no replica any more. The partition is sealed in its epoch,
// and no source for a copy, until it is installed again. It is durable on return, and calling it again does nothing.
func (s *Store) Drop(ctx context.Context, p ring.Partition) error {
	if err := s.checkPartition(p); err != nil {
		return err
	}
	return s.runStep(ctx, func() (int, error) {
		part := s.partition(p)
		if part.Incomplete {
			return 0, nil
		}
		part = part.Drop()
		// The batch marks it incomplete, so that no crash leaves a partition that looks complete without its registers.
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
		s.changeLogs.remove(p)
		if s.copies[p] == copyStarted {
			s.copies[p] = copyVoid
		}
		s.inline.setPartition(p, 0)
		return 1, s.engine.drop(p)
	})
}
