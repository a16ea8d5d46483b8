package storage

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// turn has the committer take a step in its turn among reservations, and returns when what the step has put and staged
// is durable. A step that returns an error ends the Store. If ctx ends first, the step may be taken all the same.
func (s *Store) turn(ctx context.Context, step func() (writes int, err error)) error {
	done := make(chan error, 1)
	s.push(job{step: step, look: func(ended error) { done <- ended }})
	return outcome(ctx, done)
}

// look has the committer call f when all that was decided before is durable, and returns its error. If ctx ends first, f
// may be called all the same.
func (s *Store) look(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	s.push(job{look: func(ended error) {
		if ended == nil {
			ended = f()
		}
		done <- ended
	}})
	return outcome(ctx, done)
}

// outcome waits for what comes, or for the end of ctx.
func outcome(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change has the committer replace a partition's state by what next makes of it, and returns when that is durable. If next
// returns an error, nothing is changed, and change returns it.
func (s *Store) change(ctx context.Context, p ring.Partition, next func(*register.Partition) error) error {
	if err := s.exists(p); err != nil {
		return err
	}
	var refusal error
	err := s.turn(ctx, func() (int, error) {
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

func (s *Store) exists(p ring.Partition) error {
	if int(p) >= s.cfg.Partitions {
		return fmt.Errorf("there is no partition %d", p)
	}
	return nil
}

// partition is a partition's state, what is staged included. It is called by steps.
func (s *Store) partition(p ring.Partition) register.Partition {
	if next, ok := s.staged[p]; ok {
		return next
	}
	return s.partitions[p]
}

// stage replaces a partition's state as soon as that is durable. Until then it accepts nothing: neither in the state
// that ends nor in the one that begins. It is called by steps.
func (s *Store) stage(p ring.Partition, next register.Partition) {
	s.staged[p] = next
	s.partitions[p].Sealed = true
}

// writeStaged makes durable what is staged, with what the node knows about itself. What was put before is durable.
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
	s.deciding.Lock()
	defer s.deciding.Unlock()
	for p, next := range s.staged {
		s.partitions[p] = next
		s.show(p, next)
	}
	clear(s.staged)
	return nil
}

// show shows a partition's state, which is durable, to everybody.
func (s *Store) show(p ring.Partition, part register.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[p] = part
}
