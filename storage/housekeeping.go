package storage

import (
	"encoding/binary"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
)

const (
	// horizonLag is how far the horizon stays behind the clock. No check waits half as long, so none reserves line before the
	// horizon.
	horizonLag = int64(time.Minute)
	// markEvery is how often the committer checks whether the mark's minute has passed.
	markEvery = 5 * time.Second
	// ceilingStep is how far ahead of the clock the ceiling is raised, whenever it is less than half of that ahead.
	ceilingStep = int64(time.Second)
)

// A sweeper visits the partitions in turn, one at each tick, and deletes the registers that are spent. Owned by the
// committer.
type sweeper struct {
	pause     time.Duration // between two ticks
	partition ring.Partition
	from      []byte // where to continue within the partition, or nil
	more      bool   // the last step has left a part of the partition to a round of the committer that is to come
	swept     bool   // this round has deleted registers on disk

	inline int // inline registers seen so far in the partition: see inlineCount
}

func newSweeper(cfg *Config) sweeper {
	return sweeper{pause: max(cfg.SweepEvery/time.Duration(cfg.Partitions), time.Millisecond)}
}

// sweepIfTrusted is sweepStep unless the clock cannot be trusted.
func (s *Store) sweepIfTrusted(now int64) error {
	s.sweep.more = false
	if s.cfg.MaySweep != nil && !s.cfg.MaySweep() {
		return nil
	}
	return s.sweepStep(now)
}

// sweepStep deletes spent registers of the present partition, and has the committer do another round if the partition has more. The
// partition's horizon is written together with the deletions: without it, the replica would take a bucket whose register was
// deleted for one that was never used.
func (s *Store) sweepStep(now int64) error {
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	p := s.sweep.partition
	part := s.partitions[p]
	part.Horizon = max(part.Horizon, now-horizonLag)
	next, seen, err := s.engine.sweep(p, s.sweep.from, part, sweepStepLen)
	if err != nil {
		return err
	}
	s.sweep.inline += seen.inline
	if s.sweep.from = next; next == nil {
		s.inline.setPartition(p, s.sweep.inline)
		s.sweep.inline = 0
		s.sweep.partition = ring.Partition((int(p) + 1) % len(s.partitions))
	} else {
		s.sweep.more = true
	}
	if seen.deleted > 0 {
		s.partitions[p] = part
		s.publish(p, part)
		s.metrics.swept.Add(float64(seen.deleted))
		s.sweep.swept = s.cfg.Durability == Fsync
	}
	return s.endSweepRound()
}

// endSweepRound flushes Pebble in the background after a round over all partitions: it frees no disk space for deletions
// that are in its memtable only.
func (s *Store) endSweepRound() error {
	if s.sweep.partition > 0 || s.sweep.from != nil || !s.sweep.swept {
		return nil
	}
	s.sweep.swept = false
	_, err := s.db.AsyncFlush()
	return err
}

// raiseMark raises the mark to the present minute.
func (s *Store) raiseMark(now int64) error {
	minute := now / int64(time.Minute)
	if minute <= s.meta.mark.Minute {
		return nil
	}
	m := s.meta
	m.mark.Minute = minute
	if m.confirmed.Boot == m.mark.Boot {
		m.confirmed = m.mark
	}
	if err := s.writeMeta(m); err != nil {
		return err
	}
	s.publishMark()
	if s.cfg.OnMark != nil {
		s.cfg.OnMark(m.mark)
	}
	return nil
}

// writeMeta replaces meta, and makes it durable.
func (s *Store) writeMeta(m meta) error {
	s.meta = m
	b := s.db.NewBatch()
	if err := m.write(b); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// publishMark makes the durable mark visible to all goroutines.
func (s *Store) publishMark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark = s.meta.mark
}

// raiseCeiling, in memory mode, makes a time durable that is later than any write: otherwise the floor of the next start
// would be too low if the clock is set back before it.
func (s *Store) raiseCeiling(now int64) error {
	if s.meta.completeness != onlyInMemory || now <= s.meta.ceiling-ceilingStep/2 {
		return nil
	}
	s.meta.ceiling = now + ceilingStep
	if err := s.db.Set(metaKey(metaCeiling), binary.BigEndian.AppendUint64(nil, uint64(s.meta.ceiling)), pebble.Sync); err != nil {
		return err
	}
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	s.ceiling, s.raising = s.meta.ceiling, false
	return nil
}
