package storage

import (
	"errors"
	"runtime"
	"time"

	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// run is the committer. It does all work on the database, from opening to closing, because Pebble may end the goroutine on
// which the disk fails, or block it for ever.
func (s *Store) run(opened chan<- error) {
	defer close(s.done)
	if err := s.open(); err != nil {
		opened <- err
		return
	}
	opened <- nil
	err := s.serve()
	if err == nil {
		err = errors.Join(s.endExports(), s.engine.close())
	}
	if err == nil {
		err = s.saveMemory()
	}
	if err == nil {
		err = s.db.Close()
	}
	if err != nil {
		s.fail(err)
	}
}

// serve does the queued jobs and the background work, until the Store has ended and the queue is empty.
func (s *Store) serve() error {
	marks, sweeps := time.NewTicker(markEvery), time.NewTicker(s.sweep.pause)
	defer marks.Stop()
	defer sweeps.Stop()
	counts := time.NewTicker(countPause)
	defer counts.Stop()
	var spare []job
	for {
		var err error
		select {
		case <-s.wake:
			if s.sweep.from != nil {
				err = s.sweepIfTrusted(s.cfg.Now())
			}
		case <-sweeps.C:
			err = s.sweepIfTrusted(s.cfg.Now())
		case <-counts.C:
			var more bool
			if more, err = s.countStep(); !more {
				counts.Stop()
			}
		case <-marks.C:
			s.dropIdleChangeLogs(s.cfg.Now())
			err = s.raiseMark(s.cfg.Now())
		}
		if err != nil {
			return err
		}
		if !s.worthFsync() {
			runtime.Gosched() // lets goroutines that are about to push join this batch; returns at once if there are none
		}
		jobs, ended := s.takeQueue(spare)
		if errors.Is(ended, ErrFailed) {
			return ended
		}
		if err := s.commit(jobs); err != nil || ended != nil {
			return err
		}
		clear(jobs)
		spare = jobs
		more, err := s.engine.maintain(s.cfg.Now())
		if err != nil {
			return err
		}
		if more || s.sweep.more && s.sweep.from != nil {
			s.notify()
		}
	}
}

// worthFsync reports whether so many reservations are queued that deciding them takes more CPU time than an fsync.
func (s *Store) worthFsync() bool {
	const enough = 128
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued >= enough
}

// commit does all jobs as one batch, and answers them.
func (s *Store) commit(jobs []job) error {
	if len(jobs) == 0 {
		return nil
	}
	now := s.cfg.Now()
	if err := s.raiseCeiling(now); err != nil {
		return err
	}
	writes, err := s.decideAll(jobs, now)
	if err != nil {
		return err
	}
	if writes > 0 {
		start := time.Now()
		if err := s.engine.commit(); err != nil {
			return err
		}
		s.metrics.commit(writes, time.Since(start))
	}
	if err := s.writeStaged(); err != nil {
		return err
	}
	if !s.leaveFlight() {
		return s.Err()
	}
	for i := range jobs {
		if j := &jobs[i]; j.look != nil {
			j.look(nil)
		} else {
			j.done(j.answers, nil)
		}
	}
	return nil
}

func (s *Store) decideAll(jobs []job, now int64) (writes int, err error) {
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	for i := range jobs {
		j := &jobs[i]
		var n int
		if j.step != nil {
			n, err = j.step()
		} else if j.look == nil {
			j.answers, n, err = s.decide(j.reservations, now)
		}
		if err != nil {
			return writes, err
		}
		writes += n
	}
	return writes, nil
}

// seekAhead is how many registers are looked up together, so that their cache misses overlap.
const seekAhead = 32

// decide runs the register steps, and returns how many registers it wrote.
func (s *Store) decide(rs []register.Reservation, now int64) (answers []register.Answer, writes int, err error) {
	answers = make([]register.Answer, len(rs))
	for from := 0; from < len(rs); from += seekAhead {
		part := rs[from:min(from+seekAhead, len(rs))]
		s.seek(part)
		for i := range part {
			wrote, err := s.decideOne(&s.slots[i], &part[i], &answers[from+i], now)
			if err != nil {
				return nil, writes, err
			}
			if wrote {
				writes++
			}
		}
	}
	s.metrics.reservations.Add(float64(len(rs)))
	return answers, writes, nil
}

// seek looks up the registers of reservations.
func (s *Store) seek(rs []register.Reservation) {
	s.keys = s.keys[:0]
	slots := s.slots[:len(rs)]
	for i := range rs {
		m, at := &rs[i], &slots[i]
		*at = memtable.Slot{}
		if int(m.Partition) < len(s.partitions) {
			from := len(s.keys)
			s.keys = registerKey(s.keys, m.Partition, m.Key, m.Limit)
			at.Key = s.keys[from:]
			s.engine.memtable(at.Key).Seek(at)
		}
	}
	for i := range slots {
		slots[i].Prefetch()
	}
	for i := range slots {
		slots[i].PrefetchKey()
	}
	for i := range slots {
		if at := &slots[i]; at.Entry != nil {
			s.engine.memtable(at.Key).Find(at)
		}
	}
}

func (s *Store) decideOne(at *memtable.Slot, m *register.Reservation, answer *register.Answer, now int64) (wrote bool, err error) {
	if int(m.Partition) >= len(s.partitions) {
		answer.Verdict = register.WrongEpoch // a partition that does not exist has none
		return false, nil
	}
	r, exists, err := s.engine.get(at)
	if err != nil {
		return false, err
	}
	after, a, write := s.partitions[m.Partition].Reserve(r, *m, now, s.cfg.Bounds)
	if write && m.Inline && !exists && s.inline.total.Load() >= s.cfg.Inline {
		a.Verdict, a.Position, write = register.Full, s.partitions[m.Partition].FreeFor(r, m, s.cfg.Bounds), false
		s.metrics.inlineRefused.Inc()
	}
	*answer = a
	if !write {
		return false, nil
	}
	return true, s.put(m.Partition, at, r, after)
}

// reserveInMemory decides reservations on the caller's goroutine, because registers in memory need not wait for the disk. It
// returns false, and leaves them to the committer, when the Store has ended or the ceiling must be raised first.
func (s *Store) reserveInMemory(rs []register.Reservation, done func([]register.Answer, error)) bool {
	if s.Err() != nil { // while registers are saved, decideMu is held for long
		return false
	}
	s.decideMu.Lock()
	now := s.cfg.Now()
	if now > s.ceiling || s.Err() != nil {
		s.decideMu.Unlock()
		return false
	}
	raise := now > s.ceiling-ceilingStep/2 && !s.raising
	s.raising = s.raising || raise
	answers, _, err := s.decide(rs, now)
	s.decideMu.Unlock()
	if raise {
		s.push(job{done: func([]register.Answer, error) {}})
	}
	done(answers, err)
	return true
}
