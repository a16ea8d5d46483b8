package storage

import (
	"errors"
	"runtime"
	"time"

	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// A job is what the committer is asked to do: decide reservations, or take a step, or look, or both of these.
type job struct {
	reservations []register.Reservation
	done         func([]register.Answer, error)
	step         func() (writes int, err error) // called in its turn among reservations; an error is the disk's
	look         func(ended error)              // called when that is durable, with nil, or with why the Store has ended

	answers []register.Answer
}

// drop answers jobs that will not be done. It only reads what the committer does not write.
func drop(jobs []job, why error) {
	for i := range jobs {
		if j := &jobs[i]; j.look != nil {
			j.look(why)
		} else {
			j.done(nil, why)
		}
	}
}

func (s *Store) push(j job) {
	s.mu.Lock()
	if why := s.ended; why != nil {
		s.mu.Unlock()
		drop([]job{j}, why)
		return
	}
	if s.busy.IsZero() {
		s.busy = time.Now()
	}
	s.queue = append(s.queue, j)
	s.queued += len(j.reservations)
	s.notifyLocked()
	s.mu.Unlock()
}

// take moves everything that is queued into flight and returns it, with why the Store has ended if it has. The queue
// goes on in the room of spare.
func (s *Store) take(spare []job) ([]job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flight, s.queue, s.queued = s.queue, spare[:0], 0
	return s.flight, s.ended
}

// land takes what is in flight back out, and says whether the committer may answer it. After the disk has failed it may
// not: fail has answered it then.
func (s *Store) land() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flight = nil
	if s.busy = (time.Time{}); len(s.queue) > 0 {
		s.busy = time.Now()
	}
	return !errors.Is(s.ended, ErrFailed)
}

// Stalled is how long something has waited for the disk while nothing came back from it. It is 0 when nothing waits.
func (s *Store) Stalled() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy.IsZero() {
		return 0
	}
	return time.Since(s.busy)
}

// run is the committer. All work on the database is done on its goroutine, from opening to closing, because Pebble may
// end the goroutine on which the disk fails, or let it wait for ever.
func (s *Store) run(opened chan<- error) {
	defer close(s.done)
	if err := s.begin(); err != nil {
		opened <- err
		return
	}
	opened <- nil
	err := s.serve()
	if err == nil {
		err = errors.Join(s.endExports(), s.table.close())
	}
	if err == nil {
		err = s.save()
	}
	if err == nil {
		err = s.db.Close()
	}
	if err != nil {
		s.fail(err)
	}
}

// serve does what is queued, and the housekeeping, until the Store has ended and the queue is empty.
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
				err = s.maySweep(s.cfg.Now())
			}
		case <-sweeps.C:
			err = s.maySweep(s.cfg.Now())
		case <-counts.C:
			var more bool
			if more, err = s.countOn(); !more {
				counts.Stop()
			}
		case <-marks.C:
			s.endRecordings(s.cfg.Now())
			err = s.raiseMark(s.cfg.Now())
		}
		if err != nil {
			return err
		}
		if !s.worthSync() {
			runtime.Gosched() // whoever is about to hand something in shares it; where nobody is, this returns at once
		}
		jobs, ended := s.take(spare)
		if errors.Is(ended, ErrFailed) {
			return ended
		}
		if err := s.commit(jobs); err != nil || ended != nil {
			return err
		}
		clear(jobs)
		spare = jobs
		more, err := s.table.tidy(s.cfg.Now())
		if err != nil {
			return err
		}
		if more {
			s.notify()
		}
	}
}

// worthSync says whether so many reservations are queued that an fsync takes less of a processor than they do.
func (s *Store) worthSync() bool {
	const worth = 128
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued >= worth
}

// commit does all jobs as one batch.
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
		if err := s.table.commit(); err != nil {
			return err
		}
		s.metrics.commit(writes, time.Since(start))
	}
	if err := s.writeStaged(); err != nil {
		return err
	}
	if !s.land() {
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
	s.deciding.Lock()
	defer s.deciding.Unlock()
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

// seekAhead is how many registers are looked for at once.
const seekAhead = 32

// decide runs the register steps and says how many registers it wrote.
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

// seek looks for the registers of reservations.
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
			s.table.of(at.Key).Seek(at)
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
			s.table.of(at.Key).Find(at)
		}
	}
}

func (s *Store) decideOne(at *memtable.Slot, m *register.Reservation, answer *register.Answer, now int64) (wrote bool, err error) {
	if int(m.Partition) >= len(s.partitions) {
		answer.Verdict = register.WrongEpoch // of which there is none
		return false, nil
	}
	r, exists, err := s.table.get(at)
	if err != nil {
		return false, err
	}
	after, a, write := s.partitions[m.Partition].Reserve(r, *m, now, s.cfg.Bounds)
	if write && m.Inline && !exists && s.inline.total.Load() >= s.cfg.Inline {
		a.Verdict, a.Position, write = register.Full, s.partitions[m.Partition].Free(r, m.Generation, m.Reach, s.cfg.Bounds), false
		s.metrics.inlineRefused.Inc()
	}
	*answer = a
	if !write {
		return false, nil
	}
	return true, s.put(m.Partition, at, r, after)
}

// reserveAtOnce decides reservations on the caller's goroutine, because registers that are kept in memory need not wait
// for the disk. It leaves them to the committer when the Store has ended, or while the ceiling has to be raised.
func (s *Store) reserveAtOnce(rs []register.Reservation, done func([]register.Answer, error)) bool {
	if s.Err() != nil { // the lock may be held for long, while registers are saved
		return false
	}
	s.deciding.Lock()
	now := s.cfg.Now()
	if now > s.ceiling || s.Err() != nil {
		s.deciding.Unlock()
		return false
	}
	raise := now > s.ceiling-ceilingStep/2 && !s.raising
	s.raising = s.raising || raise
	answers, _, err := s.decide(rs, now)
	s.deciding.Unlock()
	if raise {
		s.push(job{done: func([]register.Answer, error) {}})
	}
	done(answers, err)
	return true
}
