package storage

import (
	"encoding/binary"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/jeton-dev/jeton/ring"
)

const (
	// horizonLag is how far the horizon stays behind the clock. No check waits half as long, so none can reserve line
	// that lies before the horizon.
	horizonLag = int64(time.Minute)
	// sweepAtOnce is how many registers are looked at before checks get their turn.
	sweepAtOnce = 4096
	// markEvery is how often the mark is looked at. It tells minutes.
	markEvery = 5 * time.Second
	// ceilingStep is how far ahead of the clock the ceiling is raised, once it is less than half as far ahead.
	ceilingStep = int64(time.Second)
)

// A sweeper goes round the partitions, one at each tick, and deletes the registers that say nothing any more. The
// committer's own.
type sweeper struct {
	pause time.Duration // between two ticks
	at    ring.Partition
	from  []byte // where to go on within the partition, or nil
	swept bool   // something was deleted from the disk in this round

	inline int // seen so far in the partition: see inlineCount
}

func newSweeper(cfg *Config) sweeper {
	return sweeper{pause: max(cfg.SweepEvery/time.Duration(cfg.Partitions), time.Millisecond)}
}

// maySweep is sweepOn unless the clock cannot be trusted.
func (s *Store) maySweep(now int64) error {
	if s.cfg.MaySweep != nil && !s.cfg.MaySweep() {
		return nil
	}
	return s.sweepOn(now)
}

// sweepOn deletes what is spent in the partition whose turn it is, and asks for another turn when there is more. A
// replica must know that it has swept, or it would take a bucket whose register is gone for one that was never heard of:
// the partition's horizon says so, and is written together with the deletions.
func (s *Store) sweepOn(now int64) error {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	p := s.sweep.at
	part := s.partitions[p]
	part.Horizon = max(part.Horizon, now-horizonLag)
	next, seen, err := s.table.sweep(p, s.sweep.from, part, sweepAtOnce)
	if err != nil {
		return err
	}
	s.sweep.inline += seen.inline
	if s.sweep.from = next; next == nil {
		s.inline.set(p, s.sweep.inline)
		s.sweep.inline = 0
		s.sweep.at = ring.Partition((int(p) + 1) % len(s.partitions))
	} else {
		s.notify()
	}
	if seen.deleted > 0 {
		s.partitions[p] = part
		s.show(p, part)
		s.metrics.swept.Add(float64(seen.deleted))
		s.sweep.swept = s.cfg.Durability == Fsync
	}
	return s.endRound()
}

// endRound lets Pebble write down, in the background, what a round over all partitions has deleted from the disk: it
// gives no space back for what stands in its memory only.
func (s *Store) endRound() error {
	if s.sweep.at > 0 || s.sweep.from != nil || !s.sweep.swept {
		return nil
	}
	s.sweep.swept = false
	_, err := s.db.AsyncFlush()
	return err
}

// raiseMark makes the mark tell the minute, if it does not.
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
	s.showMark()
	if s.cfg.OnMark != nil {
		s.cfg.OnMark(m.mark)
	}
	return nil
}

// writeMeta makes durable what the node knows about itself.
func (s *Store) writeMeta(m meta) error {
	s.meta = m
	b := s.db.NewBatch()
	if err := m.write(b); err != nil {
		return err
	}
	return b.Commit(pebble.Sync)
}

// showMark shows a mark that is durable to everybody.
func (s *Store) showMark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark = s.meta.mark
}

// raiseCeiling makes sure, in memory mode, that a later life knows of a time that this one has not passed: without it,
// a clock that is set back between the two would put the floor too low.
func (s *Store) raiseCeiling(now int64) error {
	if s.meta.life != lifeMemory || now <= s.meta.ceiling-ceilingStep/2 {
		return nil
	}
	s.meta.ceiling = now + ceilingStep
	if err := s.db.Set(metaKey(metaCeiling), binary.BigEndian.AppendUint64(nil, uint64(s.meta.ceiling)), pebble.Sync); err != nil {
		return err
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	s.ceiling, s.raising = s.meta.ceiling, false
	return nil
}
