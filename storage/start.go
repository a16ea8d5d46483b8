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

// open opens the directory and the database, and then start reads what they hold.
func (s *Store) open() error {
	format, err := datadir.Open(s.cfg.FS, s.cfg.Dir, s.cfg.Format)
	if err != nil {
		return err
	}
	s.format = max(format, datadir.LowestFormat) // see openEngine
	db, err := database.Open(database.Config{
		Dir: s.cfg.Dir, FS: s.cfg.FS, MemTableSize: s.cfg.memTableSize, CacheSize: s.cfg.cacheSize, Logger: s.cfg.Logger, Fail: s.fail,
	})
	if err != nil {
		return err
	}
	s.db = db
	if err := s.start(); err != nil {
		return errors.Join(datadir.Explain(s.cfg.Dir, err), db.Close())
	}
	return nil
}

// start decides what the registers on disk prove, sets floors if they may be incomplete, raises the mark and opens the engine.
func (s *Store) start() error {
	m, err := readMeta(s.db.DB, s.cfg.Partitions)
	if err != nil {
		return err
	}
	if s.partitions, err = readPartitions(s.db.DB, s.cfg.Partitions, m.completeness == newDirectory); err != nil {
		return err
	}
	s.copies = make([]copyState, s.cfg.Partitions)
	s.changeLogs.byPartition = make([]*changeLog, s.cfg.Partitions)
	now := s.cfg.Now()
	if m.completeness == onlyInMemory || s.cfg.Restored {
		floor := max(now, m.ceiling, m.mark.Minute*int64(time.Minute)) + s.cfg.Bounds.EpsMax
		s.setFloors(floor)
		m.floorDue = true
		s.cfg.Logger.Warn("the registers may be incomplete: every bucket counts as empty until the floor",
			"restored", s.cfg.Restored, "floor", time.Unix(0, floor))
	}
	if behind := m.mark.Minute*int64(time.Minute) - now; behind > 0 {
		s.cfg.Logger.Error("the clock of this machine was ahead before the restart, or is behind now: "+
			"keys that were checked then, and all keys of partitions that were swept then, are denied until that time",
			"behind", time.Duration(behind), "until", time.Unix(0, now+behind))
	}
	if _, err := rand.Read(s.incarnation[:]); err != nil {
		return err
	}
	s.markBefore = m.confirmed
	m.mark = Mark{Boot: m.mark.Boot + 1, Minute: max(m.mark.Minute, now/int64(time.Minute))}
	m.completeness = syncedWrites
	if s.cfg.Durability == Memory {
		m.completeness = onlyInMemory
	}
	s.meta = m
	s.sweep = newSweeper(&s.cfg)
	if err := s.openEngine(); err != nil {
		return err
	}
	s.durable = slices.Clone(s.partitions)
	s.publishMark()
	return nil
}

// setFloors sets a floor for every partition that may have accepted reservations. A partition without an epoch has accepted
// none, unless the directory is an older copy.
func (s *Store) setFloors(floor int64) {
	for i := range s.partitions {
		if p := &s.partitions[i]; p.Epoch > 0 || p.Installed > 0 || s.cfg.Restored {
			p.Floored, p.Floor = true, max(floor, p.Floor)
		}
	}
}

// openEngine opens the registers, and writes meta before any register is written. It flushes what an earlier process has left
// in the journal, whatever the durability is now.
func (s *Store) openEngine() error {
	if err := datadir.RaiseFormat(s.cfg.FS, s.cfg.Dir, datadir.LowestFormat); err != nil {
		return err
	}
	j, err := journal.Open(s.cfg.FS, s.cfg.FS.PathJoin(s.cfg.Dir, datadir.JournalDir), s.meta.disk, s.cfg.journalSize/2)
	if err != nil {
		return err
	}
	if err := flushJournal(s.db, j); err != nil {
		return err
	}
	if s.cfg.Durability == Memory {
		if s.engine, err = loadMemoryEngine(s.db.DB, s.cfg.Partitions); err != nil {
			return err
		}
		s.ceiling = s.meta.ceiling
		return s.writeState()
	}
	if err := s.writeState(); err != nil {
		return err
	}
	s.engine, err = newDiskEngine(s.db, j, &s.cfg, s.meta.mark.Boot, s.notify)
	return err
}

// RaiseFormat raises the format of the data directory, unless it is as high. It is durable on return.
func (s *Store) RaiseFormat(to int) error {
	if err := datadir.RaiseFormat(s.cfg.FS, s.cfg.Dir, to); err != nil {
		return datadir.Explain(s.cfg.Dir, err)
	}
	return nil
}

// writeState makes meta and the states of all partitions durable.
func (s *Store) writeState() error {
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

// saveMemory writes the registers of memory mode to disk and then, as the last step, that they are complete.
func (s *Store) saveMemory() error {
	mem, ok := s.engine.(*memoryEngine)
	if !ok {
		return nil
	}
	s.decideMu.Lock() // waits for callers that are deciding
	defer s.decideMu.Unlock()
	if err := mem.save(s.db.DB, int(s.cfg.memTableSize)/4); err != nil {
		return fmt.Errorf("save registers: %w", err)
	}
	s.meta.completeness = savedMemory
	return s.writeState()
}
