package storage

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// runStep has the committer run a step in its turn among reservations, and returns when what the step has put and staged is
// durable. A step that returns an error ends the Store. If ctx ends first, the step may still run.
func (s *Store) runStep(ctx context.Context, step func() (writes int, err error)) error {
	done := make(chan error, 1)
	s.push(job{step: step, look: func(ended error) { done <- ended }})
	return awaitResult(ctx, done)
}

// runRead has the committer call f when all that was decided before is durable, and returns its error. If ctx ends first, f
// may still be called.
func (s *Store) runRead(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	s.push(job{look: func(ended error) {
		if ended == nil {
			ended = f()
		}
		done <- ended
	}})
	return awaitResult(ctx, done)
}

// awaitResult waits for the result, or for the end of ctx.
func awaitResult(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changePartition has the committer change a partition's state with next, and returns when that is durable. If next returns
// an error, the state stays, and changePartition returns that error.
func (s *Store) changePartition(ctx context.Context, p ring.Partition, next func(*register.Partition) error) error {
	if err := s.checkPartition(p); err != nil {
		return err
	}
	var refusal error
	err := s.runStep(ctx, func() (int, error) {
		part := s.partition(p)
		if refusal = next(&part); refusal == nil && part != s.partition(p) {
			s.stage(p, part)
		}
		return 0, nil
	})
	if err != nil {
		return err
	}
	return refusal
}

func (s *Store) checkPartition(p ring.Partition) error {
	if int(p) >= s.cfg.Partitions {
		return fmt.Errorf("there is no partition %d", p)
	}
	return nil
}

// partition is a partition's state, with what is staged. Only steps call it.
func (s *Store) partition(p ring.Partition) register.Partition {
	if next, ok := s.staged[p]; ok {
		return next
	}
	return s.partitions[p]
}

// stage replaces a partition's state as soon as the next one is durable. Until then the partition accepts no reservation,
// neither in its present state nor in the next. Only steps call it.
func (s *Store) stage(p ring.Partition, next register.Partition) {
	s.staged[p] = next
	s.partitions[p].Sealed = true
}

// writeStaged makes the staged states durable, together with meta. What was put before is durable already.
func (s *Store) writeStaged() error {
	if len(s.staged) == 0 {
		return nil
	}
	b := s.db.NewBatch()
	if err := s.meta.write(b); err != nil {
		return err
	}
	for p, next := range s.staged {
		if err := b.Set(partitionKey(p), next.Append(nil), nil); err != nil {
			return fmt.Errorf("write partition %d: %w", p, err)
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return err
	}
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	for p, next := range s.staged {
		s.partitions[p] = next
		s.publish(p, next)
	}
	clear(s.staged)
	return nil
}

// publish makes a durable state of a partition visible to all goroutines.
func (s *Store) publish(p ring.Partition, part register.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.durable[p] = part
}
