package storage

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/register"
)

// onCommitter calls f on the committer's goroutine.
func onCommitter(s *Store, f func() error) error {
	done := make(chan error, 1)
	s.push(job{look: func(err error) {
		if err == nil {
			err = f()
		}
		done <- err
	}})
	return <-done
}

// After any sequence of writes, flushes, sweeps and restarts, a register is found as it was last written.
func TestDiskEngineFindsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newLeakyRig(nil)
		open := func() *Store {
			s, err := Open(r.cfg)
			if err == nil {
				err = s.Found(t.Context())
			}
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := open()
		defer func() {
			if err := s.Close(); err != nil {
				rt.Fatal(err)
			}
		}()
		want := map[string]int64{}
		write := func() error {
			var batch []register.Reservation
			for range rapid.IntRange(1, 40).Draw(rt, "size") {
				key := keyOf(rapid.IntRange(0, 60).Draw(rt, "key"))
				from := max(want[key], r.clock.now())
				m := r.segment(key, from, from+1)
				m.Ledger = make([]byte, rapid.IntRange(0, 300).Draw(rt, "weight"))
				want[key] = m.To
				batch = append(batch, m)
			}
			done := make(chan error, 1)
			s.Reserve(batch, func(as []register.Answer, err error) {
				for i, a := range as {
					if a.Verdict != register.Accepted {
						err = fmt.Errorf("%s: %+v", batch[i].Key, a)
					}
				}
				done <- err
			})
			return <-done
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			var err error
			switch rapid.IntRange(0, 7).Draw(rt, "step") {
			default:
				err = write()
			case 4:
				r.clock.advance(time.Duration(maxRotationAge))
				err = onCommitter(s, func() error {
					_, err := s.engine.maintain(r.clock.now())
					return err
				})
			case 5:
				err = onCommitter(s, func() error { return flushAll(s) })
			case 6:
				r.clock.advance(2 * time.Minute)
				err = onCommitter(s, func() error { return s.sweepStep(r.clock.now()) })
			case 7:
				if err = s.Close(); err == nil {
					s = open()
				}
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		for key, to := range want {
			l, err := s.Look(t.Context(), r.segment(key, 0, 0).Partition, key, "demo")
			if err != nil {
				rt.Fatal(err)
			}
			if swept := to < l.Partition.Horizon; l.Register.H != to && (l.Exists || !swept) {
				rt.Errorf("%s: %+v, want it reserved up to %d", key, l, to)
			}
		}
	})
}

// However much was written before, a flush starts with one short step: checks wait for no more than that.
func TestFlushStartsWithOneStep(t *testing.T) {
	const count = 4 * flushStepLen
	r := newRig(t, nil)
	s := r.open(t)
	table := s.engine.(*diskEngine)
	for _, first := range []int{0, count} {
		must(t, onCommitter(s, func() error {
			table.rotateSize = math.MaxInt64 // generations end when the test says so
			for table.previous.len() == 0 && first > 0 || table.flushing != nil {
				table.firstWrite = s.cfg.Now() - maxRotationAge
				if _, err := table.maintain(s.cfg.Now()); err != nil {
					return err
				}
				if table.flushing != nil {
					table.flushing.wait()
				}
			}
			table.firstWrite = 0
			return nil
		}))
		batch := make([]register.Reservation, count)
		for i := range batch {
			batch[i] = r.segment(keyOf(first+i), epoch, epoch+1)
		}
		accepted(t, s, batch...)
	}
	must(t, onCommitter(s, func() error {
		for want := range []int{0, 1} {
			table.firstWrite = s.cfg.Now() - maxRotationAge
			if _, err := table.maintain(s.cfg.Now()); err != nil {
				return err
			}
			if n, at := table.flushing.entries.len(), table.flushing.next; n != count || at != want*flushStepLen {
				return fmt.Errorf("%d of %d are collected after %d steps, want %d of %d", at, n, want, want*flushStepLen, count)
			}
		}
		return nil
	}))
}

// An idle register is neither in memory nor in the journal after two rotations; one that is written all the time is never
// flushed.
func TestRotation(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	accepted(t, s, r.segment("idle", epoch, epoch+1))
	pass := func() {
		t.Helper()
		err := onCommitter(s, func() error {
			for more := true; more; {
				var err error
				if more, err = s.engine.maintain(r.clock.now()); err != nil {
					return err
				}
				if st := s.engine.(*diskEngine).flushing; st != nil && !more {
					st.wait()
					more = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(4) {
		pass()
		accepted(t, s, r.segment("busy", epoch+i, epoch+i+1))
		r.clock.advance(time.Duration(maxRotationAge))
		pass()
	}
	err := onCommitter(s, func() error {
		table := s.engine.(*diskEngine)
		key := registerKey(nil, r.segment("busy", 0, 0).Partition, "busy", "demo")
		busy := table.memtable(key).Lookup(key)
		if busy.Entry == nil || table.memtables.Len() != 1 {
			return fmt.Errorf("in memory: %v, want the busy one", table.memtables)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := registersOnDisk(t, s); n != 1 {
		t.Errorf("%d registers in Pebble, want the idle one", n)
	}
	for range 3 {
		r.clock.advance(time.Duration(maxRotationAge))
		pass()
	}
	names, err := r.cfg.FS.List(r.cfg.FS.PathJoin(r.cfg.Dir, datadir.JournalDir))
	if err != nil || len(names) != 1 || registersOnDisk(t, s) != 2 {
		t.Errorf("at rest: %d registers in Pebble and the journal %q, %v; want both there, and a single file", registersOnDisk(t, s), names, err)
	}
}
