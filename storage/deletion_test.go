package storage

import (
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/storage/register"
)

// Adjacent spent registers are deleted by range tombstones, and the others are kept: at either end, in the middle, and where
// only a few are adjacent.
func TestSweepKeepsWhatIsBetween(t *testing.T) {
	const count = 3*minRange + 10
	for name, alive := range map[string][]int{
		"none": nil, "first": {0}, "last": {count - 1}, "middle": {count / 2},
		"some": {3, minRange + 3, minRange + 4, 2*minRange + 4, 2*minRange + 9},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t, func(c *Config) { c.Partitions = 1 })
			batch := make([]register.Reservation, count)
			for i := range batch {
				batch[i] = r.segment(keyOf(100_000+i), epoch, epoch+1)
				batch[i].Partition = 0
				if slices.Contains(alive, i) {
					batch[i].To, batch[i].Reach = epoch+int64(2*time.Hour), int64(2*time.Hour)
				}
			}
			accepted(t, s, batch...)
			r.clock.advance(time.Hour)
			keepHouse(t, s)
			shut(t, s)
			s = r.open(t, func(c *Config) { c.Partitions = 1 })
			if n := registersOnDisk(t, s); n != len(alive) {
				t.Errorf("%d registers are left, want %d", n, len(alive))
			}
			for _, i := range alive {
				l, err := s.Look(t.Context(), 0, batch[i].Key, batch[i].Limit)
				if err != nil || l.Register.H != batch[i].To {
					t.Errorf("%s: %+v, %v, want it as it was written", batch[i].Key, l, err)
				}
			}
		})
	}
}

// Registers that Pebble ingests while their partition is swept stay, whatever is deleted around them.
func TestSweepWhileFlushing(t *testing.T) {
	r := newRig(t, nil)
	s := r.open(t, func(c *Config) { c.Partitions = 1 })
	write := func(from, count int, to int64) {
		batch := make([]register.Reservation, count)
		for i := range batch {
			batch[i] = r.segment(keyOf(from+2*i), r.clock.now(), to)
			batch[i].Partition = 0
			batch[i].Reach = to - r.clock.now()
		}
		accepted(t, s, batch...)
	}
	write(100_000, 2*minRange, epoch+1)
	flushOnce(t, s)
	if err := onCommitter(s, func() error { return flushAll(s) }); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(time.Hour)
	write(100_001, 2*minRange, r.clock.now()+int64(time.Hour)) // between the spent ones
	err := onCommitter(s, func() error {
		table := s.engine.(*diskEngine)
		for table.flushing == nil || table.flushing.done == nil {
			table.firstWrite = min(table.firstWrite, r.clock.now()-maxRotationAge)
			if _, err := table.maintain(r.clock.now()); err != nil {
				return err
			}
		}
		return s.sweepStep(r.clock.now())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := onCommitter(s, func() error { return flushAll(s) }); err != nil {
		t.Fatal(err)
	}
	if n := registersOnDisk(t, s); n != 2*minRange {
		t.Errorf("%d registers are left, want the %d that are not spent", n, 2*minRange)
	}
}
