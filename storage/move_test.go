package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/storage/register"
)

// A move is partition 0 on its way from two stores, the first two, to a third one.
type move struct {
	rigs    [3]*rig
	stores  [3]*Store
	clock   *fakeClock
	ctx     context.Context //nolint:containedctx // of the test
	mode    func(*Config)
	cursors [2][]byte
	taken   map[string]register.Reservation // accepted by either, the furthest of each key
	deltas  int                             // exports that told of something, but not of everything
}

func newMove(ctx context.Context, mode func(*Config)) (*move, error) {
	m := &move{ctx: ctx, mode: mode, taken: map[string]register.Reservation{}}
	for i := range m.rigs {
		m.rigs[i] = newLeakyRig(nil)
		if i > 0 {
			m.rigs[i].clock = m.rigs[0].clock
			m.rigs[i].cfg.Now = m.rigs[0].clock.now
		}
		if err := m.start(i); err != nil {
			return nil, err
		}
	}
	m.clock = m.rigs[0].clock
	return m, nil
}

func (m *move) start(i int) (err error) {
	if m.stores[i], err = Open(m.rigs[i].with(m.mode)); err == nil && i < 2 {
		err = m.stores[i].Found(m.ctx)
	}
	return err
}

func (m *move) restart(i int) error {
	if err := m.stores[i].Close(); err != nil {
		return err
	}
	return m.start(i)
}

// reserve asks one of the two sources for the next piece of some keys' lines.
func (m *move) reserve(i int, keys []int) error {
	var rs []register.Reservation
	for _, key := range keys {
		r := m.rigs[i].in(0, 1, keyOf(key), 0, 0)
		l, err := m.stores[i].Look(m.ctx, 0, r.Key, r.Limit)
		if err != nil {
			return err
		}
		r.From = max(m.clock.now(), l.Partition.Free(l.Register, 0, reach, register.DefaultBounds()))
		r.To = r.From + 1000
		rs = append(rs, r)
	}
	done := make(chan error, 1)
	m.stores[i].Reserve(rs, func(as []register.Answer, err error) {
		for k, a := range as {
			if a.Verdict == register.Accepted && rs[k].To > m.taken[rs[k].Key].To {
				m.taken[rs[k].Key] = rs[k]
			}
		}
		done <- err
	})
	return <-done
}

// copy brings to the third store what a source has written since the last time.
func (m *move) copy(i int) (register.Partition, error) {
	told := 0
	cursor, part, err := m.stores[i].Export(m.ctx, 0, m.cursors[i], func(piece []Exported) error {
		told += len(piece)
		return m.stores[2].Merge(m.ctx, 0, piece)
	})
	if err != nil {
		return part, err
	}
	if m.cursors[i] != nil && told > 0 && told < len(m.taken)/2 {
		m.deltas++
	}
	m.cursors[i] = cursor
	return part, nil
}

// house keeps a store in order in some way.
func (m *move) house(i, way int) error {
	s := m.stores[i]
	return onCommitter(s, func() error {
		switch way {
		case 0:
			return flushAll(s)
		case 1:
			m.clock.advance(time.Duration(maxRotationAge))
			_, err := s.engine.maintain(m.clock.now())
			return err
		default:
			m.clock.advance(2 * time.Minute)
			s.sweep.partition, s.sweep.from = 0, nil
			return errors.Join(flushAll(s), s.sweepStep(m.clock.now()))
		}
	})
}

// finish seals the sources, installs their join and looks whether anything was forgotten.
func (m *move) finish() error {
	var states []register.Partition
	for i := range 2 {
		if _, err := m.stores[i].Seal(m.ctx, 0, 1); err != nil {
			return err
		}
		part, err := m.copy(i)
		if err != nil {
			return err
		}
		states = append(states, part)
	}
	join, err := register.Join(states, 2, 2)
	if err != nil {
		return err
	}
	s := m.stores[2]
	err = s.Install(m.ctx, 0, 2, join)
	if errors.Is(err, ErrIncomplete) { // it was dropped on the way, which the test has remembered
		err = s.Install(m.ctx, 0, 2, join)
	}
	if err != nil {
		return err
	}
	if err := s.Enter(m.ctx, 0, 2); err != nil {
		return err
	}
	for key, r := range m.taken {
		l, err := s.Look(m.ctx, 0, key, r.Limit)
		if err != nil {
			return err
		}
		if free := l.Partition.Free(l.Register, 0, reach, register.DefaultBounds()); free < r.To {
			return fmt.Errorf("%s was taken up to %d, and is free from %d on: %+v", key, r.To-epoch, free-epoch, l)
		}
	}
	return nil
}

// Whatever happens during a move, line that was accepted before the seals is taken after the install.
func TestMovesForgetNothing(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			deltas := 0
			rapid.Check(t, func(rt *rapid.T) {
				pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") }
				m, err := newMove(t.Context(), mode)
				if err != nil {
					rt.Fatal(err)
				}
				defer func() {
					for _, s := range m.stores {
						if err := s.Close(); err != nil {
							rt.Error(err)
						}
					}
				}()
				for range pick(40) {
					if err := m.step(pick); err != nil {
						rt.Fatal(err)
					}
				}
				if err := m.finish(); err != nil {
					rt.Fatal(err)
				}
				deltas += m.deltas
			})
			if deltas == 0 {
				t.Error("no export told of less than everything")
			}
		})
	}
}

func (m *move) step(pick func(int) int) (err error) {
	switch i := pick(2); pick(10) {
	default:
		keys := make([]int, 1+pick(30))
		for k := range keys {
			keys[k] = pick(100)
		}
		return m.reserve(i, keys)
	case 1, 2, 3:
		_, err = m.copy(i)
	case 4:
		return m.house(pick(3), pick(3))
	case 5:
		return m.restart(pick(3))
	case 6:
		_, err = m.stores[i].Seal(m.ctx, 0, 1)
	case 7:
		if pick(3) == 0 {
			m.cursors = [2][]byte{}
			return m.stores[2].Drop(m.ctx, 0)
		}
	}
	return err
}
