package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/register"
)

// After a burst the journal is as small as before it, whether the last file was filled or hardly begun.
func TestBurstLeavesNoLargeFile(t *testing.T) {
	for name, after := range map[string]int{"filled": 0, "begun": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.open(t)
			burst := func(n int) {
				batch := make([]register.Reservation, n)
				for i := range batch {
					batch[i] = r.segment(fmt.Sprintf("%s:%d", keyOf(i), r.seq), r.clock.now(), r.clock.now()+1)
				}
				accepted(t, s, batch...)
			}
			for range 4 { // each fills a file many times over
				burst(1000)
				flushOnce(t, s)
			}
			if after > 0 {
				burst(after)
			}
			for range 4 {
				r.clock.advance(time.Duration(maxRotationAge))
				flushOnce(t, s)
			}
			dir := r.cfg.FS.PathJoin(r.cfg.Dir, datadir.JournalDir)
			names, err := r.cfg.FS.List(dir)
			if err != nil || len(names) != 1 {
				t.Fatalf("the journal has %q, %v; want one file", names, err)
			}
			info, err := r.cfg.FS.Stat(r.cfg.FS.PathJoin(dir, names[0]))
			if err != nil || info.Size() > 2*r.cfg.journalSize {
				t.Errorf("%s has %d bytes, %v", names[0], info.Size(), err)
			}
			shut(t, s)
			s = r.open(t)
			if n := registersOnDisk(t, s); n != 4*1000+after {
				t.Errorf("%d registers on disk, want %d", n, 4*1000+after)
			}
		})
	}
}

// flushOnce does the maintenance that is due, and waits for it.
func flushOnce(t *testing.T, s *Store) {
	t.Helper()
	err := onCommitter(s, func() error {
		table := s.engine.(*diskEngine)
		for {
			more, err := table.maintain(s.cfg.Now())
			if err != nil {
				return err
			}
			if table.flushing != nil && !more {
				table.flushing.wait()
			} else if !more {
				return nil
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
