package storage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/register"
)

// in is a reservation in a partition and an epoch.
func (r *rig) in(p ring.Partition, in uint64, key string, from, to int64) register.Reservation {
	m := r.segment(key, from, to)
	m.Partition, m.Epoch = p, in
	return m
}

// is looks at partition 0.
func is(t *testing.T, s *Store, want state) {
	t.Helper()
	if got := stateOf(s.Partition(0)); got != want {
		t.Fatalf("the partition is %+v, want %+v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fails(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

// A partition of a new directory accepts nothing in any epoch until it is founded or installed, whatever was merged.
func TestBlankPartitionsAcceptNothing(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.openBlank(t, mode)
			must(t, s.Merge(t.Context(), 0, others(0, 0, 3)))
			for range 2 {
				is(t, s, state{sealed: true})
				refused(t, s, register.Sealed, r.in(0, 0, "user", epoch, epoch+1))
				refused(t, s, register.WrongEpoch, r.in(0, 1, "user", epoch, epoch+1))
				_, err := s.Seal(t.Context(), 0, 0)
				fails(t, err, ErrEpoch)
				fails(t, s.Enter(t.Context(), 0, 0), ErrEpoch)
				shut(t, s)
				s = r.openBlank(t, mode)
			}
			must(t, s.Found(t.Context()))
			accepted(t, s, r.in(0, 1, "user", epoch, epoch+1))
			must(t, s.Found(t.Context()))
			is(t, s, state{epoch: 1})
		})
	}
}

// A partition goes from one epoch to the next, answers in one at a time, and remembers where it is.
func TestEpochsFollowEachOther(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			ctx := t.Context()
			again := func() { // in the next life all is as it was
				t.Helper()
				shut(t, s)
				s = r.open(t, mode)
			}
			first := r.in(0, 1, "user", epoch, epoch+1)
			accepted(t, s, first)
			_, err := s.Seal(ctx, 0, 2)
			fails(t, err, ErrEpoch)
			fails(t, s.Enter(ctx, 0, 2), ErrEpoch)
			for range 2 {
				part, err := s.Seal(ctx, 0, 1)
				if err != nil || stateOf(part) != (state{epoch: 1, sealed: true}) {
					t.Fatalf("sealed: %+v, %v", part, err)
				}
				refused(t, s, register.Sealed, r.in(0, 1, "user", epoch+1, epoch+2), first)
				accepted(t, s, r.in(1, 1, "user", s.Partition(1).Horizon+r.clock.now(), r.clock.now()+1))
				r.clock.advance(time.Second)
				again()
			}
			must(t, s.Enter(ctx, 0, 1)) // which changes nothing
			is(t, s, state{epoch: 1, sealed: true})
			for range 2 {
				must(t, s.Install(ctx, 0, 3, register.Partition{Horizon: 7}))
				is(t, s, state{epoch: 1, installed: 3, sealed: true})
				refused(t, s, register.WrongEpoch, r.in(0, 3, "user", epoch+1, epoch+2))
				again()
			}
			fails(t, s.Install(ctx, 0, 2, register.Partition{}), ErrEpoch)
			fails(t, s.Enter(ctx, 0, 2), ErrEpoch)
			for range 2 {
				must(t, s.Enter(ctx, 0, 3))
				must(t, s.Install(ctx, 0, 3, register.Partition{Floored: true, Floor: epoch})) // too late, and not needed
				is(t, s, state{epoch: 3})
				if p := s.Partition(0); p.Horizon != 7 || p.Floored {
					t.Errorf("%+v, want the horizon of the join, and no floor", p)
				}
				again()
			}
			refused(t, s, register.WrongEpoch, first)
			repeated := first
			repeated.Epoch = 3
			refused(t, s, register.Taken, repeated)
			accepted(t, s, r.in(0, 3, "user", r.clock.now(), r.clock.now()+1))
			fails(t, s.Install(ctx, 0, 2, register.Partition{}), ErrEpoch)
		})
	}
}

// A seal refuses reservations that were queued together with it.
func TestSealTakesItsTurn(t *testing.T) {
	g, r, s := behindGate(t)
	first := make(chan error, 1)
	s.Reserve([]register.Reservation{r.in(0, 1, "hold", epoch, epoch+1)}, func(_ []register.Answer, err error) { first <- err })
	await(t, g.reached, "the fsync of the first")
	verdicts := make(chan register.Verdict, 2)
	reserve := func() {
		s.Reserve([]register.Reservation{r.in(0, 1, "user", epoch, epoch)}, func(as []register.Answer, _ error) { verdicts <- as[0].Verdict })
	}
	reserve()
	sealed := make(chan register.Partition, 1)
	s.push(job{
		step: func() (int, error) {
			part := s.partition(0)
			part.Sealed = true
			s.stage(0, part)
			return 0, nil
		},
		look: func(error) { sealed <- s.Partition(0) },
	})
	reserve()
	if s.Partition(0).Sealed {
		t.Error("it is sealed before its turn")
	}
	g.open()
	if err := receive(t, first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []register.Verdict{register.Accepted, register.Sealed} {
		if got := <-verdicts; got != want {
			t.Errorf("got verdict %d, want %d", got, want)
		}
	}
	if p := <-sealed; !p.Sealed {
		t.Errorf("%+v after it was sealed", p)
	}
}

// Dropped registers stay deleted, whether they were in memory, being flushed, or in Pebble.
func TestDrop(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			ctx := t.Context()
			here, kept := others(0, 0, 60), others(1, 0, 20)
			must(t, s.Merge(ctx, 0, here[:20]))
			must(t, s.Merge(ctx, 1, kept))
			keepHouse(t, s)
			must(t, s.Merge(ctx, 0, here[20:]))
			must(t, s.Drop(ctx, 0))
			late := others(0, 100, 5)
			must(t, s.Merge(ctx, 0, late)) // which is not dropped by what is over
			must(t, s.Drop(ctx, 0))        // nor by this, which does nothing
			for range 3 {
				is(t, s, state{epoch: 1, sealed: true, incomplete: true})
				_, err := s.Seal(ctx, 0, 1)
				fails(t, err, ErrIncomplete)
				keepHouse(t, s)
				if got := exported(t, s, 0, nil); len(got) != len(late) {
					t.Errorf("%d registers are there, want %d", len(got), len(late))
				}
				if got := exported(t, s, 1, nil); len(got) != len(kept) {
					t.Errorf("%d registers of the other partition are there, want %d", len(got), len(kept))
				}
				shut(t, s)
				s = r.open(t, mode)
			}
			must(t, s.Install(ctx, 0, 5, register.Partition{}))
			must(t, s.Enter(ctx, 0, 5))
			accepted(t, s, r.in(0, 5, here[0].Key, epoch, epoch+1))
		})
	}
}

// A flush that is under way does not bring back registers that are dropped meanwhile, in any phase.
func TestDropWhileFlushing(t *testing.T) {
	for _, far := range []string{"collecting", "writing"} {
		t.Run(far, func(t *testing.T) {
			var shutGate atomic.Bool
			gate := make(chan struct{})
			r := newRig(t, &disktest.Disk{FS: vfs.NewMem(), Step: func(o disktest.Operation) error {
				if shutGate.Load() && strings.HasSuffix(o.Path, database.IngestFile) {
					<-gate
				}
				return o.Do()
			}})
			s := r.open(t, func(c *Config) { c.journalSize = 16 << 20 })
			rs := others(0, 0, flushStepLen+100)
			for i := range rs {
				rs[i].Register.Ledger = nil
			}
			must(t, s.Merge(t.Context(), 0, rs))
			must(t, s.Merge(t.Context(), 1, others(1, 0, 1)))
			shutGate.Store(true)
			table := s.engine.(*diskEngine)
			must(t, onCommitter(s, func() error {
				for table.flushing == nil || table.flushing.entries.len() == 0 {
					table.firstWrite = s.cfg.Now() - maxRotationAge
					if _, err := table.maintain(s.cfg.Now()); err != nil {
						return err
					}
					if table.flushing != nil {
						table.flushing.wait()
					}
				}
				for table.written = 0; table.flushing.run.items.len() < flushStepLen || far == "writing" && table.flushing.done == nil; {
					if _, err := table.flushStep(); err != nil {
						return err
					}
				}
				return errors.Join(deleteRegisters(s.db, 0), table.drop(0), table.commit())
			}))
			close(gate)
			must(t, onCommitter(s, func() error { return flushAll(s) }))
			for p, want := range []int{0, 1} {
				if got := exported(t, s, ring.Partition(p), nil); len(got) != want {
					t.Errorf("%d registers of partition %d, want %d", len(got), p, want)
				}
			}
		})
	}
}

// A copy that started before its partition was dropped must start again.
func TestDropVoidsCopy(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	ctx := t.Context()
	must(t, s.Merge(ctx, 0, others(0, 0, 3)))
	must(t, s.Drop(ctx, 0))
	fails(t, s.Install(ctx, 0, 2, register.Partition{}), ErrIncomplete)
	is(t, s, state{epoch: 1, sealed: true, incomplete: true})
	must(t, s.Install(ctx, 0, 2, register.Partition{}))
	must(t, s.Drop(ctx, 0)) // nothing was merged since
	must(t, s.Install(ctx, 0, 2, register.Partition{}))
	must(t, s.Merge(ctx, 0, others(0, 0, 3)))
	must(t, s.Drop(ctx, 0))
	must(t, s.EnterFloored(ctx, 0, 3, epoch)) // which needs no copy
	is(t, s, state{epoch: 3})
}

// An install takes the floor of the join, whatever floor there was; a forced one keeps the later of the two.
func TestFloorsOfInstalls(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, restored)
	own := s.Partition(0)
	if !own.Floored {
		t.Fatal("no floor to begin with")
	}
	ctx := t.Context()
	must(t, s.Install(ctx, 0, 2, register.Partition{}))
	must(t, s.Install(ctx, 1, 2, register.Partition{Floored: true, Floor: 5}))
	must(t, s.EnterFloored(ctx, 2, 2, 5))
	must(t, s.EnterFloored(ctx, 3, 2, own.Floor+1))
	for p, want := range []register.Partition{{}, {Floored: true, Floor: 5}, {Floored: true, Floor: own.Floor}, {Floored: true, Floor: own.Floor + 1}} {
		if got := s.Partition(ring.Partition(p)); got.Floored != want.Floored || got.Floor != want.Floor {
			t.Errorf("partition %d: %+v, want a floor like %+v", p, got, want)
		}
	}
}

// After End, a replica accepts nothing, and no epoch of the lost nodes can be installed or entered; that of the recovery is
// entered with its floor, whatever floor there was.
func TestEndBeforeARecovery(t *testing.T) {
	for name, durability := range map[string]func(*Config){"fsync": func(*Config) {}, "memory": inMemory} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vfs.NewCrashableMem())
			s := r.open(t, durability)
			ctx := t.Context()
			must(t, s.Install(ctx, 1, 2, register.Partition{}))
			accepted(t, s, r.segment("user", epoch, epoch+1))
			must(t, s.End(ctx))
			for range 2 {
				must(t, s.End(ctx))
				fails(t, s.Enter(ctx, 1, 2), ErrEpoch)
				fails(t, s.Install(ctx, 0, 2, register.Partition{}), ErrEpoch) // which was on its way
				refused(t, s, register.Sealed, r.segment("user", epoch+1, epoch+2))
				r.kill(t, s)
				s = r.open(t, durability)
			}
			own := s.Partition(0).Floor
			again := ring.Recovered(1)
			must(t, s.EnterFloored(ctx, 0, again, own+5))
			must(t, s.EnterFloored(ctx, 0, again, own+9)) // once more
			if got := s.Partition(0); got.Epoch != again || got.Sealed || got.Installed != 0 || !got.Floored || got.Floor != own+5 {
				t.Errorf("the recovered epoch is entered as %+v", got)
			}
			must(t, s.Install(ctx, 1, again+1, register.Partition{})) // a move that follows
			must(t, s.Enter(ctx, 1, again+1))
		})
	}
	blank := newRig(t, vfs.NewCrashableMem()).openBlank(t)
	must(t, blank.End(t.Context()))
	must(t, blank.Found(t.Context()))
	if got := blank.Partition(0); got.Epoch != 0 {
		t.Errorf("a partition is founded after a recovery has begun: %+v", got)
	}
}

// Floors that a start has set are raised once, also when the life in which they were set did not come to it.
func TestRaiseFloor(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem())
	s := r.open(t, inMemory)
	must(t, s.RaiseFloor(t.Context(), epoch+int64(time.Hour)))
	if p := s.Partition(0); p.Floored {
		t.Fatalf("%+v, which needed no floor", p)
	}
	accepted(t, s, r.segment("user", epoch, epoch+1))
	r.kill(t, s)
	s = r.open(t)
	low := s.Partition(0).Floor
	r.kill(t, s)
	s = r.open(t) // exact but for the floor
	must(t, s.RaiseFloor(t.Context(), low-1))
	if got := s.Partition(0); !got.Floored || got.Floor != low {
		t.Errorf("%+v, want it to stay at %d", got, low)
	}
	shut(t, s)
	s = r.open(t, restored)
	must(t, s.RaiseFloor(t.Context(), low+int64(time.Hour)))
	r.kill(t, s)
	s = r.open(t)
	for p := range ring.Partition(partitions) {
		if got := s.Partition(p).Floor; got != low+int64(time.Hour) {
			t.Errorf("partition %d has a floor of %d, want it an hour later than %d", p, got, low)
		}
	}
	must(t, s.RaiseFloor(t.Context(), low+int64(2*time.Hour)))
	if got := s.Partition(0).Floor; got != low+int64(time.Hour) {
		t.Errorf("a start that needed no floor has raised it to %d", got)
	}
}

// A start after memory was lost sets no floor where nothing can have been accepted.
func TestNoFloorBeforeFounding(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem())
	s := r.openBlank(t, inMemory)
	must(t, s.Install(t.Context(), 1, 4, register.Partition{}))
	r.kill(t, s)
	s = r.open(t, inMemory)
	if a, b := s.Partition(0), s.Partition(1); a.Floored || !b.Floored {
		t.Errorf("%+v and %+v: want a floor for the one that is installed", a, b)
	}
}

func TestUnknownPartitions(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	ctx := t.Context()
	_, err := s.Seal(ctx, partitions, 1)
	_, _, exportErr := s.Export(ctx, partitions, nil, nil)
	for what, err := range map[string]error{
		"seal": err, "export": exportErr, "merge": s.Merge(ctx, partitions, nil), "drop": s.Drop(ctx, partitions),
		"install": s.Install(ctx, partitions, 2, register.Partition{}), "enter": s.Enter(ctx, partitions, 1),
		"floor": s.EnterFloored(ctx, partitions, 2, 0),
	} {
		if err == nil || err.Error() != "there is no partition 4" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if p := s.Partition(partitions); p != (register.Partition{}) {
		t.Errorf("%+v", p)
	}
	shut(t, s)
	fails(t, s.Found(ctx), ErrClosed)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := r.open(t).Found(canceled); err != nil { // either may be first
		fails(t, err, context.Canceled)
	}
}

// Nothing is swept while the clock cannot be trusted.
func TestMaySweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var may atomic.Bool
		now := func() int64 { return time.Now().UnixNano() }
		s, err := Open(Config{
			Dir: "data", FS: vfs.NewMem(), Partitions: 1, Now: now, SweepEvery: time.Minute, MaySweep: may.Load, Durability: Memory,
		})
		must(t, err)
		must(t, s.Found(t.Context()))
		accepted(t, s, register.Reservation{Epoch: 1, Key: "user", Limit: "demo", From: now(), To: now() + 1, Reach: reach})
		for _, want := range []bool{true, false} {
			<-time.After(5 * time.Minute)
			synctest.Wait()
			if l := lookIn(t, s, 0, "user"); l.Exists != want {
				t.Errorf("it exists: %v, want %v", l.Exists, want)
			}
			may.Store(true)
		}
		must(t, s.Close())
	})
}

// OnMark is called with each mark once it is durable, and MarkBefore is the last one that was confirmed.
func TestMarksAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewCrashableMem()
		var confirmed Mark
		for boot := uint64(1); boot <= 6; boot++ {
			var mu sync.Mutex
			var told []Mark
			var s *Store
			s, err := Open(Config{
				Dir: "data", FS: memory, Partitions: 1, Now: func() int64 { return time.Now().UnixNano() },
				OnMark: func(m Mark) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, m)
				},
			})
			must(t, err)
			minute := time.Now().Unix() / 60
			if s.Mark() != (Mark{boot, minute}) || s.MarkBefore() != confirmed {
				t.Errorf("start %d: mark %v, before it %v, want it %v", boot, s.Mark(), s.MarkBefore(), confirmed)
			}
			<-time.After(time.Minute + markEvery)
			synctest.Wait()
			if boot%3 == 2 {
				must(t, s.Confirm(t.Context()))
				must(t, s.Confirm(t.Context()))
				<-time.After(time.Minute + markEvery)
				synctest.Wait()
				confirmed = s.Mark()
			}
			memory = memory.CrashClone(vfs.CrashCloneCfg{}) // all that was told is durable
			if want := (Mark{boot, time.Now().Unix() / 60}); s.Mark() != want || len(told) == 0 || told[len(told)-1] != want {
				t.Errorf("mark %v, told %v, want %v", s.Mark(), told, want)
			}
			must(t, s.Close())
		}
	})
}
