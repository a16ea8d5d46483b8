package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/register"
)

// kill ends a Store as kill -9 does: what it has written stays, and it writes nothing more.
func (r *rig) kill(t *testing.T, s *Store) {
	t.Helper()
	memory, ok := r.cfg.FS.(*vfs.MemFS)
	if !ok {
		t.Fatal("only on a crashable file system in memory")
	}
	r.cfg.FS = memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
	shut(t, s)
}

// A restart must be exact where the registers on disk are complete, and have a floor where they are not.
func TestModes(t *testing.T) {
	type life struct {
		durability Durability
		killed     bool
	}
	var (
		fsync        = life{Fsync, false}
		fsyncKilled  = life{Fsync, true}
		memory       = life{Memory, false}
		memoryKilled = life{Memory, true}
	)
	tests := []struct {
		what  string
		lives []life
		floor bool
	}{
		{"a new directory", nil, false},
		{"fsync", []life{fsync}, false},
		{"fsync, killed", []life{fsyncKilled}, false},
		{"memory", []life{memory}, false},
		{"memory, killed", []life{memoryKilled}, true},
		{"memory after fsync", []life{fsync, memory}, false},
		{"memory after fsync, killed", []life{fsync, memoryKilled}, true},
		{"memory after fsync was killed", []life{fsyncKilled, memory}, false},
		{"memory after fsync was killed, killed", []life{fsyncKilled, memoryKilled}, true},
		{"fsync after memory", []life{memory, fsync}, false},
		{"fsync after memory, killed", []life{memory, fsyncKilled}, false},
		{"fsync after memory was killed", []life{memoryKilled, fsync}, true},
		{"memory twice", []life{memory, memory}, false},
		{"memory twice, killed", []life{memory, memoryKilled}, true},
		{"memory, killed, then stopped cleanly", []life{memoryKilled, memory}, true},
		{"everything", []life{fsyncKilled, memory, fsync, memory, fsyncKilled}, false},
	}
	for _, test := range tests {
		for _, last := range []Durability{Fsync, Memory} {
			t.Run(test.what+", then "+string(last), func(t *testing.T) {
				r := newRig(t, vfs.NewCrashableMem())
				var answered register.Reservation
				as := func(d Durability) func(*Config) { return func(c *Config) { c.Durability = d } }
				for _, l := range test.lives {
					s := r.open(t, as(l.durability))
					r.clock.ns.Store(max(r.clock.now(), s.partitions[0].Floor) + int64(time.Second))
					answered = r.segment("user", epoch, 0)
					answered.From = max(r.clock.now(), free(t, s, answered))
					answered.To = answered.From + int64(time.Second)
					accepted(t, s, answered)
					if l.killed {
						r.kill(t, s)
					} else {
						shut(t, s)
					}
				}
				s := r.open(t, as(last))
				for i, p := range s.partitions {
					if p.Floored != test.floor {
						t.Errorf("partition %d: floored: %v, want %v", i, p.Floored, test.floor)
					}
				}
				if answered.Key == "" {
					return
				}
				overlap := r.segment("user", answered.To-1, answered.To)
				refused(t, s, register.Taken, overlap)
				if !test.floor {
					if l := lookAt(t, s, "user"); !l.Exists || l.Register.H != answered.To {
						t.Errorf("the register is %+v, want it at %d", l.Register, answered.To)
					}
					accepted(t, s, answered) // repeated
					accepted(t, s, r.segment("user", answered.To, answered.To+1))
				}
			})
		}
	}
}

// free is where the line of m's bucket is free.
func free(t *testing.T, s *Store, m register.Reservation) int64 {
	t.Helper()
	l := lookAt(t, s, m.Key)
	return l.Partition.Free(l.Register, m.Generation, m.Reach, register.DefaultBounds())
}

// The floor lies behind every time at which something was answered, and is not raised by a restart that needs none.
func TestFloor(t *testing.T) {
	epsMax := register.DefaultBounds().EpsMax
	r := newRig(t, vfs.NewCrashableMem())
	s := r.open(t, inMemory)
	accepted(t, s, r.segment("user", epoch, epoch+1))
	r.kill(t, s)

	s = r.open(t)
	floor := s.partitions[0].Floor
	if floor < epoch+epsMax || floor > epoch+epsMax+ceilingStep {
		t.Errorf("the floor is %v after the last answer, want between %v and %v", floor-epoch, epsMax, epsMax+ceilingStep)
	}
	blocked := floor + reach + register.DefaultBounds().Slack()
	a := ask(t, s, r.segment("user", blocked-1, blocked))[0]
	if a.Verdict != register.Taken || a.Position != blocked {
		t.Errorf("below the floor: %+v, want the line taken up to %d", a, blocked)
	}
	for range 2 { // killed and stopped, it stays what it was
		r.clock.advance(time.Hour)
		r.kill(t, s)
		s = r.open(t)
		r.clock.advance(time.Hour)
		shut(t, s)
		s = r.open(t)
		if got := s.partitions[0]; !got.Floored || got.Floor != floor {
			t.Errorf("the floor is %+v, want %d", got, floor)
		}
	}
	accepted(t, s, r.segment("user", r.clock.now(), r.clock.now()+1)) // it has faded
}

// A clock that is set back between two starts does not lower the floor.
func TestFloorAfterClockWasSetBack(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem())
	s := r.open(t, inMemory)
	r.clock.advance(time.Hour)
	m := r.segment("user", r.clock.now(), r.clock.now()+reach)
	accepted(t, s, m)
	r.kill(t, s)
	r.clock.advance(-time.Hour)
	s = r.open(t, inMemory)
	if least := epoch + int64(time.Hour) + register.DefaultBounds().EpsMax; s.partitions[0].Floor < least {
		t.Errorf("the floor is %v too low", time.Duration(least-s.partitions[0].Floor))
	}
	refused(t, s, register.Taken, r.segment("user", m.To-1, m.To))
}

// A clock that is set back does not matter where registers are on disk.
func TestFsyncAfterClockWasSetBack(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem())
	s := r.open(t)
	r.clock.advance(time.Hour)
	m := r.segment("user", r.clock.now(), r.clock.now()+reach)
	accepted(t, s, m)
	r.kill(t, s)
	r.clock.advance(-time.Hour)
	s = r.open(t)
	refused(t, s, register.Taken, r.segment("user", m.To-1, m.To))
	accepted(t, s, m)
}

func TestRestored(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	accepted(t, s, r.segment("user", epoch, epoch+1))
	shut(t, s)
	r.clock.advance(time.Hour + 30*time.Second)
	s = r.open(t, restored)
	floor := r.clock.now() + register.DefaultBounds().EpsMax
	for i, p := range s.partitions {
		if !p.Floored || p.Floor != floor {
			t.Errorf("partition %d: %+v, want a floor of %d", i, p, floor)
		}
	}
	refused(t, s, register.Taken, r.segment("another", r.clock.now(), r.clock.now()+1))
	shut(t, s)
	r.clock.advance(-2 * time.Hour) // the copy that is restored next thinks it is earlier
	s = r.open(t, restored)
	if got := s.partitions[0].Floor; got != floor {
		t.Errorf("a second restoration moved the floor from %d to %d", floor, got)
	}
}

// Restored sets floors in an empty directory too.
func TestRestoredEmptyDirectory(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, restored)
	if p := s.partitions[0]; !p.Floored || p.Floor < epoch {
		t.Errorf("%+v, want a floor", p)
	}
}

func TestDiskID(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem())
	s := r.open(t)
	id := s.Disk()
	if len(id.String()) != 32 || id == (DiskID{}) {
		t.Errorf("the disk is called %q", id)
	}
	shut(t, s)
	s = r.open(t, inMemory)
	if s.Disk() != id {
		t.Errorf("after a clean stop %v calls itself %v", id, s.Disk())
	}
	r.kill(t, s)
	s = r.open(t, restored)
	if s.Disk() != id {
		t.Errorf("after a kill %v calls itself %v", id, s.Disk())
	}
	other := newRig(t, nil)
	if s := other.open(t); s.Disk() == id {
		t.Error("two disks have one name")
	}
}

// The mark counts starts, and the minutes of a life as they pass, however few partitions there are to sweep.
func TestMarkRises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewCrashableMem()
		for boot := uint64(1); boot <= 3; boot++ {
			s, err := Open(Config{
				Dir: "data", FS: memory, Partitions: 1, Now: func() int64 { return time.Now().UnixNano() }, SweepEvery: 24 * time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := markOf(t, s), (Mark{boot, time.Now().Unix() / 60}); got != want {
				t.Errorf("the mark is %v after start %d, want %v", got, boot, want)
			}
			for range 3 {
				<-time.After(time.Minute + markEvery)
				synctest.Wait()
				if got, want := markOf(t, s), (Mark{boot, time.Now().Unix() / 60}); got != want {
					t.Errorf("the mark is %v a minute later, want %v", got, want)
				}
			}
			memory = memory.CrashClone(vfs.CrashCloneCfg{}) // it was durable
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// markOf is the mark on the disk.
func markOf(t *testing.T, s *Store) Mark {
	t.Helper()
	m, err := readMeta(s.db.DB, s.cfg.Partitions)
	if err != nil {
		t.Fatal(err)
	}
	return m.mark
}

// A mark does not fall when the clock is set back.
func TestMarkNeverFalls(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t)
	before := markOf(t, s)
	shut(t, s)
	r.clock.advance(-time.Hour)
	s = r.open(t)
	keepHouse(t, s)
	if got, want := markOf(t, s), (Mark{before.Boot + 1, before.Minute}); got != want {
		t.Errorf("the mark is %v, want %v", got, want)
	}
}

func TestCloseTwice(t *testing.T) {
	for _, change := range []func(*Config){func(*Config) {}, inMemory} {
		r := newRig(t, nil)
		s := r.open(t, change)
		shut(t, s)
		shut(t, s)
		if err := s.Err(); !errors.Is(err, ErrClosed) {
			t.Errorf("Err after Close: %v", err)
		}
		select {
		case <-s.Failed():
			t.Error("a Store that was closed has failed")
		default:
		}
		if _, err := s.Look(context.Background(), 0, "user", "demo"); !errors.Is(err, ErrClosed) {
			t.Errorf("a look after Close: %v", err)
		}
		if _, err := try(t, s, r.segment("user", epoch, epoch+1)); !errors.Is(err, ErrClosed) {
			t.Errorf("a reservation after Close: %v", err)
		}
	}
}
