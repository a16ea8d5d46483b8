package storage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// sweepAll goes once round the partitions.
func sweepAll(t *testing.T, s *Store) {
	t.Helper()
	for range partitions {
		keepHouse(t, s)
	}
}

// A sweep deletes spent registers, and no others.
func TestSweepDeletesOnlyWhatIsSpent(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			spent := r.segment("spent", epoch, epoch+1)
			reset := r.segment("reset", epoch, epoch+1) // spent, but its generation lies ahead
			reset.Generation = epoch + int64(time.Hour)
			ahead := r.segment("ahead", epoch, epoch+int64(time.Hour))
			ahead.Reach = int64(time.Hour)
			accepted(t, s, spent, reset, ahead)

			exist := func(want ...string) {
				t.Helper()
				for _, key := range []string{"spent", "reset", "ahead"} {
					there := false
					for _, w := range want {
						there = there || w == key
					}
					if l := lookAt(t, s, key); l.Exists != there {
						t.Errorf("%v later: %s exists: %v, want %v", time.Duration(r.clock.now()-epoch), key, l.Exists, there)
					}
				}
			}
			sweepAll(t, s)
			exist("spent", "reset", "ahead")
			r.clock.advance(time.Minute)
			sweepAll(t, s) // the horizon lies a minute behind
			exist("spent", "reset", "ahead")
			r.clock.advance(2)
			sweepAll(t, s)
			exist("reset", "ahead")
			r.clock.advance(time.Hour - time.Minute - 2)
			sweepAll(t, s)
			exist("reset", "ahead")
			r.clock.advance(time.Minute)
			sweepAll(t, s)
			exist("reset", "ahead") // the horizon stands at their ends
			r.clock.advance(1)
			sweepAll(t, s)
			exist()
		})
	}
}

// The line of a swept register stays refused, before and after a restart, because of its partition's horizon. Partitions in
// which nothing was swept have no horizon.
func TestSweptLineStaysRefused(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, mode)
			m := r.segment("user", epoch, epoch+1)
			accepted(t, s, m)
			r.clock.advance(time.Hour)
			sweepAll(t, s)
			horizon := r.clock.now() - horizonLag
			for range 2 {
				if l := lookAt(t, s, "user"); l.Exists || l.Partition.Horizon != horizon {
					t.Fatalf("%+v, want it swept with a horizon of %d", l, horizon)
				}
				for p, part := range s.partitions {
					if ring.Partition(p) != m.Partition && part.Horizon != 0 {
						t.Errorf("partition %d has a horizon though nothing was swept in it", p)
					}
				}
				if a := ask(t, s, m)[0]; a.Verdict != register.Taken || a.Position != horizon {
					t.Errorf("the spent reservation once more: %+v", a)
				}
				refused(t, s, register.Taken, r.segment("user", horizon-1, horizon))
				shut(t, s)
				s = r.open(t, mode)
			}
			accepted(t, s, r.segment("user", horizon, horizon+1))
		})
	}
}

// Registers that were swept in memory mode do not come back from an older state on disk.
func TestSweptRegisterStaysGone(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, inMemory)
	accepted(t, s, r.segment("user", epoch, epoch+1))
	shut(t, s)
	s = r.open(t, inMemory)
	if l := lookAt(t, s, "user"); !l.Exists {
		t.Error("the register was not saved")
	}
	r.clock.advance(time.Hour)
	sweepAll(t, s)
	shut(t, s)
	s = r.open(t)
	if n := registersOnDisk(t, s); n != 0 {
		t.Errorf("%d registers are on disk, want none", n)
	}
}

// A partition with many registers is swept in pieces, without waiting for the next tick.
func TestSweepGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 2*sweepStepLen + 100
		now := func() int64 { return time.Now().UnixNano() }
		s, err := Open(Config{Dir: "data", FS: vfs.NewMem(), Partitions: 1, Now: now, SweepEvery: time.Hour})
		if err == nil {
			err = s.Found(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		start := now()
		batch := make([]register.Reservation, count)
		for i := range batch {
			batch[i] = register.Reservation{
				Writer: register.Writer{1}, Seq: uint64(i), Epoch: ring.FirstEpoch, Now: start,
				Key: keyOf(i), Limit: "demo", From: start, To: start + 1, Reach: reach,
			}
		}
		accepted(t, s, batch...)
		<-time.After(time.Hour - time.Second)
		synctest.Wait()
		if n := registersOnDisk(t, s); n != count {
			t.Errorf("%d registers before the tick, want %d", n, count)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if n := registersOnDisk(t, s); n != 0 {
			t.Errorf("%d registers are left after one tick", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func registersOnDisk(t *testing.T, s *Store) (n int) {
	t.Helper()
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{registerPrefix}, UpperBound: []byte{registerPrefix + 1}})
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// Between two steps, reservations that wait are served.
func TestSweepTakesTurns(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, func(c *Config) { c.Partitions = 1 })
	batch := make([]register.Reservation, sweepStepLen+1)
	for i := range batch {
		batch[i] = r.segment(keyOf(i), epoch, epoch+1)
		batch[i].Partition = 0
	}
	accepted(t, s, batch...)
	r.clock.advance(time.Hour)
	done := make(chan struct{})
	s.push(job{look: func(error) { // on the committer
		defer close(done)
		if err := flushAll(s); err != nil {
			t.Error(err)
		}
		for _, left := range []int{1, 0} {
			if err := s.sweepStep(r.clock.now()); err != nil {
				t.Error(err)
			}
			if n := registersOnDisk(t, s); n != left || (s.sweep.from != nil) != (left > 0) {
				t.Errorf("%d registers are left (to go on: %v), want %d", n, s.sweep.from != nil, left)
			}
		}
	}})
	await(t, done, "the committer")
}

// However few partitions there are, one round takes as long as was asked for; however many, a tick takes a millisecond.
func TestSweepPause(t *testing.T) {
	for _, test := range []struct {
		every      time.Duration
		partitions int
		want       time.Duration
	}{
		{10 * time.Minute, 1, 10 * time.Minute},
		{271 * time.Second, 271, time.Second},
		{time.Second, 65536, time.Millisecond},
	} {
		if got := newSweeper(&Config{SweepEvery: test.every, Partitions: test.partitions}).pause; got != test.want {
			t.Errorf("%d partitions every %v: a pause of %v, want %v", test.partitions, test.every, got, test.want)
		}
	}
}

// The turn comes round to the first partition after the last, at the largest number of partitions too.
func TestSweepComesRound(t *testing.T) {
	s := &Store{partitions: make([]register.Partition, maxPartitions), engine: &memoryEngine{memtables: memtable.NewTables(maxPartitions)}}
	s.sweep.partition = maxPartitions - 1
	if err := s.sweepStep(epoch); err != nil || s.sweep.partition != 0 {
		t.Errorf("after the last partition comes %d, %v", s.sweep.partition, err)
	}
}
