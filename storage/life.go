package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/journal"
)

// A life says how the registers were kept since the last start, and so whether those on disk are complete.
type life byte

const (
	lifeNone   life = iota // the directory is new: no register was ever written
	lifeFsync              // every register was on disk before it was answered
	lifeMemory             // registers were in memory, and have not been saved
	lifeSaved              // registers were in memory, and a clean stop has saved them all
)

// begin opens the directory, proves what it knows, sets a floor if it cannot, and begins a new life of the registers.
func (s *Store) begin() error {
	if err := datadir.Open(s.cfg.FS, s.cfg.Dir); err != nil {
		return err
	}
	db, err := database.Open(database.Config{
		Dir: s.cfg.Dir, FS: s.cfg.FS, MemTableSize: s.cfg.memTableSize, CacheSize: s.cfg.cacheSize, Logger: s.cfg.Logger, Fail: s.fail,
	})
	if err != nil {
		return err
	}
	s.db = db
	if err := s.beginLife(); err != nil {
		return errors.Join(datadir.Explain(s.cfg.Dir, err), db.Close())
	}
	return nil
}

func (s *Store) beginLife() error {
	m, err := readMeta(s.db.DB, s.cfg.Partitions)
	if err != nil {
		return err
	}
	if s.partitions, err = readPartitions(s.db.DB, s.cfg.Partitions, m.life == lifeNone); err != nil {
		return err
	}
	s.copying = make([]copying, s.cfg.Partitions)
	s.recordings.of = make([]*recording, s.cfg.Partitions)
	now := s.cfg.Now()
	if m.life == lifeMemory || s.cfg.Restored {
		floor := max(now, m.ceiling, m.mark.Minute*int64(time.Minute)) + s.cfg.Bounds.EpsMax
		s.setFloors(floor)
		m.floorDue = true
		s.cfg.Logger.Warn("the registers may be incomplete: every bucket counts as emptied until now",
			"restored", s.cfg.Restored, "floor", time.Unix(0, floor))
	}
	if behind := m.mark.Minute*int64(time.Minute) - now; behind > 0 {
		s.cfg.Logger.Error("the clock of this machine was ahead in an earlier life, or is behind now: "+
			"what was reserved then, and every key of a partition that was swept then, is denied until that time",
			"behind", time.Duration(behind), "until", time.Unix(0, now+behind))
	}
	if _, err := rand.Read(s.life[:]); err != nil {
		return err
	}
	s.before = m.confirmed
	m.mark = Mark{Boot: m.mark.Boot + 1, Minute: max(m.mark.Minute, now/int64(time.Minute))}
	m.life = lifeFsync
	if s.cfg.Durability == Memory {
		m.life = lifeMemory
	}
	s.meta = m
	s.sweep = newSweeper(&s.cfg)
	if err := s.openTable(); err != nil {
		return err
	}
	s.shown = slices.Clone(s.partitions)
	s.showMark()
	return nil
}

// setFloors sets a floor for every partition that may have accepted anything. One that is in no epoch has nothing that it
// could have forgotten, unless somebody says that it was in one.
func (s *Store) setFloors(floor int64) {
	for i := range s.partitions {
		if p := &s.partitions[i]; p.Epoch > 0 || p.Installed > 0 || s.cfg.Restored {
			p.Floored, p.Floor = true, max(floor, p.Floor)
		}
	}
}

// openTable opens the registers, and begins their new life before any is written. Those that an earlier life has left
// in the journal go into Pebble, whatever the durability is now.
func (s *Store) openTable() error {
	if err := datadir.RaiseFormat(s.cfg.FS, s.cfg.Dir); err != nil {
		return err
	}
	j, err := journal.Open(s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, datadir.JournalDir), s.meta.disk, s.cfg.journalSize/2)
	if err != nil {
		return err
	}
	if err := settleJournal(s.db, j); err != nil {
		return err
	}
	if s.cfg.Durability == Memory {
		if s.table, err = loadMemoryTable(s.db.DB, s.cfg.Partitions); err != nil {
			return err
		}
		s.ceiling = s.meta.ceiling
		return s.writeLife()
	}
	if err := s.writeLife(); err != nil {
		return err
	}
	s.table, err = newDiskTable(s.db, j, &s.cfg, s.meta.mark.Boot, s.notify)
	return err
}

// writeLife makes durable what the node knows about itself and its partitions.
func (s *Store) writeLife() error {
	b := s.db.NewBatch()
	if err := s.meta.write(b); err != nil {
		return err
	}
	for i, p := range s.partitions {
		if err := b.Set(partitionKey(ring.Partition(i)), p.Append(nil), nil); err != nil {
			return fmt.Errorf("write partition %d: %w", i, err)
		}
	}
	return b.Commit(pebble.Sync)
}

// save writes the registers of memory mode to disk and then, as a last step, that they are complete.
func (s *Store) save() error {
	mem, ok := s.table.(*memoryTable)
	if !ok {
		return nil
	}
	s.deciding.Lock() // whoever had begun to decide when the Store ended has done so
	defer s.deciding.Unlock()
	if err := mem.save(s.db.DB, int(s.cfg.memTableSize)/4); err != nil {
		return fmt.Errorf("save registers: %w", err)
	}
	s.meta.life = lifeSaved
	return s.writeLife()
}
