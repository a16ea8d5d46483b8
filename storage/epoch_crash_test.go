package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// others are registers that other replicas have of a partition.
func others(p ring.Partition, from, count int) (rs []Exported) {
	for i := from; i < from+count; i++ {
		rs = append(rs, Exported{Key: fmt.Sprintf("other:%d:%d", p, i), Limit: "demo", Register: register.Register{
			H: epoch + reach, Epoch: 1, From: epoch, Reach: reach, Ledger: bytes.Repeat([]byte{byte(i)}, 600),
		}})
	}
	return rs
}

// merge merges registers of other replicas, and records that.
func (w *witness) merge(t *testing.T, s *Store, p ring.Partition, rs []Exported) error {
	t.Helper()
	err := s.Merge(t.Context(), p, rs)
	if err == nil {
		w.note(func() {
			for _, x := range rs {
				w.answered[x.Key] = register.Reservation{
					Partition: p, Key: x.Key, Limit: x.Limit, Generation: x.Register.Generation, To: x.Register.H, Reach: x.Register.Reach,
				}
			}
		})
	}
	return err
}

// drop drops a partition, and records that.
func (w *witness) drop(t *testing.T, s *Store, p ring.Partition) error {
	t.Helper()
	var keys []string
	w.note(func() {
		for key, m := range w.answered {
			if m.Partition == p {
				keys = append(keys, key)
				delete(w.answered, key)
			}
		}
	})
	err := w.become(func(st *state) { st.sealed, st.incomplete, st.installed = true, true, 0 },
		func() error { return s.Drop(t.Context(), p) }, p)
	if err == nil {
		w.note(func() {
			for _, key := range keys {
				w.gone[key] = p
			}
		})
	}
	return err
}

func (w *witness) seal(ctx context.Context, s *Store, p ring.Partition, in uint64) error {
	return w.become(func(st *state) { st.sealed = true }, func() error {
		_, err := s.Seal(ctx, p, in)
		return err
	}, p)
}

func (w *witness) install(ctx context.Context, s *Store, p ring.Partition, next uint64) error {
	return w.become(func(st *state) { st.sealed, st.installed, st.incomplete = true, next, false },
		func() error { return s.Install(ctx, p, next, register.Partition{Horizon: epoch}) }, p)
}

func (w *witness) enter(ctx context.Context, s *Store, p ring.Partition, in uint64) error {
	return w.become(func(st *state) { *st = state{epoch: in} }, func() error { return s.Enter(ctx, p, in) }, p)
}

// moves changes the replica sets of a Store's partitions: partition 0 continues in another epoch, partition 1 is dropped and
// installed again, partition 2 gets registers of other replicas, partition 3 is dropped.
func moves(changes ...func(*Config)) story {
	return func(t *testing.T, r *rig, w *witness) error {
		t.Helper()
		s, err := w.open(r, changes...)
		if err != nil {
			return err
		}
		ctx := t.Context()
		for _, step := range []func() error{
			func() error { return w.found(t, s) },
			func() error { return raise(t, r, w, s, 1) },
			func() error { return w.seal(ctx, s, 0, 1) },
			func() error { return w.merge(t, s, 0, others(0, 0, 20)) },
			func() error { return w.install(ctx, s, 0, 2) },
			func() error { return w.seal(ctx, s, 1, 1) },
			func() error { return w.merge(t, s, 2, others(2, 0, 20)) },
			func() error { return w.enter(ctx, s, 0, 2) },
			func() error { keepHouse(t, s); return nil },
			func() error { return w.merge(t, s, 1, others(1, 0, 20)) },
			func() error { return w.drop(t, s, 3) },
			func() error { return w.drop(t, s, 1) },
			func() error { return w.merge(t, s, 1, others(1, 100, 20)) },
			func() error { keepHouse(t, s); return nil },
		} {
			if err := step(); err != nil {
				return failed(t, s, err)
			}
		}
		// What was merged before the drop is missing, so the first attempt must fail.
		if err := s.Install(ctx, 1, 3, register.Partition{}); !errors.Is(err, ErrIncomplete) {
			if errors.Is(err, ErrFailed) {
				return failed(t, s, err)
			}
			t.Errorf("installed though it was dropped on the way: %v", err)
		}
		for _, step := range []func() error{
			func() error { return w.merge(t, s, 1, others(1, 120, 20)) },
			func() error { return w.install(ctx, s, 1, 3) },
			func() error { return w.enter(ctx, s, 1, 3) },
		} {
			if err := step(); err != nil {
				return failed(t, s, err)
			}
		}
		if err := w.shut(s); err != nil {
			return failed(t, s, err)
		}
		return nil
	}
}

// examineMoves holds a wreck against the promise that registers and states of partitions stay what was answered, or
// what was asked for since, and that what was dropped stays gone.
func examineMoves(t *testing.T, r *rig, w wreck, changes ...func(*Config)) (floored bool, err error) {
	t.Helper()
	s, clock, err := w.open(r, 0, changes...) // compares the states
	if err != nil {
		return false, err
	}
	defer shut(t, s)
	for key, m := range w.answered {
		l := lookIn(t, s, m.Partition, key)
		if l.Partition.Floored {
			floored, l.Exists = true, true // it need not exist
		}
		if err := w.kept(m, l); err != nil {
			return floored, err
		}
	}
	for key, p := range w.gone {
		if l := lookIn(t, s, p, key); l.Exists {
			return floored, fmt.Errorf("%s was dropped with partition %d, and is back", key, p)
		}
	}
	for p := range ring.Partition(partitions) {
		now := s.Partition(p)
		clock.ns.Store(max(clock.now(), now.Floor)) // by then it has faded
		m := register.Reservation{
			Writer: register.Writer{3}, Seq: 1, Epoch: now.Epoch, Partition: p, Key: "nobody", Limit: "demo", Reach: reach,
		}
		m.From = now.Free(register.Register{}, 0, reach, register.DefaultBounds())
		m.From = max(m.From, clock.now())
		m.To = m.From
		answers, err := try(t, s, m)
		if err != nil {
			return floored, err
		}
		want := register.Accepted
		if now.Sealed {
			want = register.Sealed
		}
		if answers[0].Verdict != want {
			return floored, fmt.Errorf("a reservation in partition %d, which is %+v: %+v", p, now, answers[0])
		}
	}
	return floored, nil
}

func lookIn(t *testing.T, s *Store, p ring.Partition, key string) Looked {
	t.Helper()
	l, err := s.Look(t.Context(), p, key, "demo")
	if err != nil {
		t.Fatalf("look at %s: %v", key, err)
	}
	return l
}

func TestCrashMovesFsync(t *testing.T) {
	crashEverywhere(t, moves(), func(t *testing.T, r *rig, w wreck) error {
		t.Helper()
		floored, err := examineMoves(t, r, w)
		if err == nil && floored {
			err = errors.New("a floor though every answer had been synced")
		}
		return err
	})
}

func TestCrashMovesMemory(t *testing.T) {
	var floored, exact atomic.Int64
	crashEverywhere(t, moves(inMemory), func(t *testing.T, r *rig, w wreck) error {
		t.Helper()
		floor, err := examineMoves(t, r, w, inMemory)
		switch {
		case floor && w.stopped:
			err = errors.Join(err, errors.New("a floor after a clean stop"))
		case floor:
			floored.Add(1)
		default:
			exact.Add(1)
		}
		return err
	})
	if floored.Load() == 0 || exact.Load() == 0 {
		t.Errorf("%d wrecks with a floor, %d exact: there should be both", floored.Load(), exact.Load())
	}
}
