package storage

import (
	"errors"
	"runtime"
	"time"

	"github.com/jeton-dev/jeton/storage/register"
)

// A job is what the committer is asked to do: decide reservations, or look.
type job struct {
	reservations []register.Reservation
	done         func([]register.Answer, error)
	look         func(ended error) // called with nil, or with why the Store has ended

	answers []register.Answer
}

// drop answers a job that will not be done.
func (j *job) drop(why error) {
	if j.look != nil {
		j.look(why)
		return
	}
	j.done(nil, why)
}

func (s *Store) push(j job) {
	s.mu.Lock()
	if why := s.ended; why != nil {
		s.mu.Unlock()
		j.drop(why)
		return
	}
	s.queue = append(s.queue, j)
	s.notify()
	s.mu.Unlock()
}

// take returns everything that is queued, with why the Store has ended if it has.
func (s *Store) take(spare []job) ([]job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := s.queue
	s.queue = spare[:0]
	return jobs, s.ended
}

// run is the committer. It ends when the Store has ended and the queue is empty.
func (s *Store) run() {
	var jobs []job
	defer func() {
		// Reached in the middle of a batch when the disk has failed: see openPebble.
		for _, j := range jobs {
			j.drop(s.Err())
		}
		rest, why := s.take(nil)
		for _, j := range rest {
			j.drop(why)
		}
		close(s.done)
	}()
	tick := time.NewTicker(s.sweep.pause)
	defer tick.Stop()
	var spare []job
	for {
		select {
		case <-s.wake:
		case <-tick.C:
			s.must(s.keepHouse())
		}
		var ended error
		jobs, ended = s.take(spare)
		if errors.Is(ended, ErrFailed) {
			return
		}
		s.must(s.commit(jobs))
		if s.sweep.from != nil {
			s.must(s.sweepOn(s.cfg.Now()))
		}
		clear(jobs)
		spare, jobs = jobs, nil
		if ended != nil {
			return
		}
	}
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
	reservations, writes := 0, 0
	for i := range jobs {
		n, err := s.decide(&jobs[i], now)
		if err != nil {
			return err
		}
		reservations += len(jobs[i].reservations)
		writes += n
	}
	if writes > 0 {
		start := time.Now()
		if err := s.table.commit(); err != nil {
			return err
		}
		s.metrics.commit(writes, time.Since(start))
	}
	s.metrics.reservations.Add(float64(reservations))
	for i := range jobs {
		j := &jobs[i]
		if j.look != nil {
			j.look(nil)
		} else {
			j.done(j.answers, nil)
		}
		*j = job{look: func(error) {}} // answered: nothing is left to drop
	}
	return nil
}

// decide runs the register steps of one job and says how many registers it wrote.
func (s *Store) decide(j *job, now int64) (writes int, err error) {
	j.answers = make([]register.Answer, len(j.reservations))
	for i, m := range j.reservations {
		s.scratch = registerKey(s.scratch[:0], m.Partition, m.Key, m.Limit)
		r, _, err := s.table.get(s.scratch)
		if err != nil {
			return writes, err
		}
		after, answer, write := s.partitions[m.Partition].Reserve(r, m, now, s.cfg.Bounds)
		j.answers[i] = answer
		if !write {
			continue
		}
		writes++
		if err := s.table.put(s.scratch, after); err != nil {
			return writes, err
		}
	}
	return writes, nil
}

// must ends the Store, and the goroutine, if the disk has failed.
func (s *Store) must(err error) {
	if err != nil {
		s.fail(err)
		runtime.Goexit()
	}
}
