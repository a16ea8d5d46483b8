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

// onCommitter does something on the committer's goroutine.
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

// Whatever is written, settled, swept and opened again: a register is found as it was written last.
func TestDiskTableFindsWhatWasWritten(t *testing.T) {
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
				m.Aux = make([]byte, rapid.IntRange(0, 300).Draw(rt, "weight"))
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
				r.clock.advance(time.Duration(generationAge))
				err = onCommitter(s, func() error {
					_, err := s.table.tidy(r.clock.now())
					return err
				})
			case 5:
				err = onCommitter(s, func() error { return settleAll(s) })
			case 6:
				r.clock.advance(2 * time.Minute)
				err = onCommitter(s, func() error { return s.sweepOn(r.clock.now()) })
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

// However much was written before, settling begins with a piece: checks wait for no more than that.
func TestSettlingBeginsWithAPiece(t *testing.T) {
	const count = 4 * entriesAtOnce
	r := newRig(t, nil)
	s := r.open(t)
	table := s.table.(*diskTable)
	for _, first := range []int{0, count} {
		must(t, onCommitter(s, func() error {
			table.size = math.MaxInt64 // generations end when the test says so
			for table.stale.len() == 0 && first > 0 || table.settling != nil {
				table.begun = s.cfg.Now() - generationAge
				if _, err := table.tidy(s.cfg.Now()); err != nil {
					return err
				}
				if table.settling != nil {
					table.settling.wait()
				}
			}
			table.begun = 0
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
			table.begun = s.cfg.Now() - generationAge
			if _, err := table.tidy(s.cfg.Now()); err != nil {
				return err
			}
			if n, at := table.settling.entries.len(), table.settling.at; n != count || at != want*entriesAtOnce {
				return fmt.Errorf("%d of %d are collected after %d steps, want %d of %d", at, n, want, want*entriesAtOnce, count)
			}
		}
		return nil
	}))
}

// What is left alone is neither in memory nor in the journal after two generations; what is written all the time does
// not go to Pebble at all.
func TestGenerationsPass(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	accepted(t, s, r.segment("idle", epoch, epoch+1))
	pass := func() {
		t.Helper()
		err := onCommitter(s, func() error {
			for more := true; more; {
				var err error
				if more, err = s.table.tidy(r.clock.now()); err != nil {
					return err
				}
				if st := s.table.(*diskTable).settling; st != nil && !more {
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
		r.clock.advance(time.Duration(generationAge))
		pass()
	}
	err := onCommitter(s, func() error {
		table := s.table.(*diskTable)
		key := registerKey(nil, r.segment("busy", 0, 0).Partition, "busy", "demo")
		busy := table.of(key).Lookup(key)
		if busy.Entry == nil || table.entries.Len() != 1 {
			return fmt.Errorf("in memory: %v, want the busy one", table.entries)
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
		r.clock.advance(time.Duration(generationAge))
		pass()
	}
	names, err := r.cfg.FS.List(r.cfg.FS.PathJoin(r.cfg.Dir, datadir.JournalDir))
	if err != nil || len(names) != 1 || registersOnDisk(t, s) != 2 {
		t.Errorf("at rest: %d registers in Pebble and the journal %q, %v; want both there, and a single file", registersOnDisk(t, s), names, err)
	}
}
