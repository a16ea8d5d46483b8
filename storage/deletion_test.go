package storage

import (
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/storage/register"
)

// Spent registers side by side are deleted by a range, and those between them that are not spent are kept: at either end,
// in the middle, and where only a few are side by side.
func TestSweepKeepsWhatIsBetween(t *testing.T) {
	const count = 3*sideBySide + 10
	for name, alive := range map[string][]int{
		"none": nil, "first": {0}, "last": {count - 1}, "middle": {count / 2},
		"some": {3, sideBySide + 3, sideBySide + 4, 2*sideBySide + 4, 2*sideBySide + 9},
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

// What comes into Pebble while a partition is swept stays, whatever is deleted around it.
func TestSweepWhileSettling(t *testing.T) {
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
	write(100_000, 2*sideBySide, epoch+1)
	settleOnce(t, s)
	if err := onCommitter(s, func() error { return settleAll(s) }); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(time.Hour)
	write(100_001, 2*sideBySide, r.clock.now()+int64(time.Hour)) // between the spent ones
	err := onCommitter(s, func() error {
		table := s.table.(*diskTable)
		for table.settling == nil || table.settling.done == nil {
			table.begun = min(table.begun, r.clock.now()-generationAge)
			if _, err := table.tidy(r.clock.now()); err != nil {
				return err
			}
		}
		return s.sweepOn(r.clock.now())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := onCommitter(s, func() error { return settleAll(s) }); err != nil {
		t.Fatal(err)
	}
	if n := registersOnDisk(t, s); n != 2*sideBySide {
		t.Errorf("%d registers are left, want the %d that are not spent", n, 2*sideBySide)
	}
}
