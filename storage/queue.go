package storage

import (
	"errors"
	"time"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/register"
)

// A job is a request to the committer: to decide reservations, to run a step, or to look at what is durable; or the last
// two, one after the other.
type job struct {
	reservations []register.Reservation
	done         func([]register.Answer, error)
	step         func() (writes int, err error) // is called in its turn among reservations; an error ends the Store
	look         func(ended error)              // is called when that is durable, or with why the Store has ended

	answers []register.Answer
}

// failJobs answers jobs with an error. It reads only fields that the committer does not write.
func failJobs(jobs []job, why error) {
	for i := range jobs {
		if j := &jobs[i]; j.look != nil {
			j.look(why)
		} else {
			j.done(nil, why)
		}
	}
}

// push queues a job, or answers it at once if the Store has ended.
func (s *Store) push(j job) {
	s.mu.Lock()
	if why := s.ended; why != nil {
		s.mu.Unlock()
		failJobs([]job{j}, why)
		return
	}
	if s.waitingSince.IsZero() {
		s.waitingSince = time.Now()
	}
	s.queue = append(s.queue, j)
	s.queued += len(j.reservations)
	s.notifyLocked()
	s.mu.Unlock()
}

// takeQueue moves the queued jobs to inFlight and returns them, and why the Store has ended if it has. spare becomes the
// new queue. What has woken the committer until now is in the two: a token that jobs have left since it woke would have it do a round for
// nothing.
func (s *Store) takeQueue(spare []job) ([]job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.wake:
	default:
	}
	s.inFlight, s.queue, s.queued = s.queue, spare[:0], 0
	return s.inFlight, s.ended
}

// leaveFlight empties inFlight, and reports whether the committer may answer those jobs. After the disk has failed, fail has
// answered them already.
func (s *Store) leaveFlight() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = nil
	if s.waitingSince = (time.Time{}); len(s.queue) > 0 {
		s.waitingSince = time.Now()
	}
	return !errors.Is(s.ended, ErrFailed)
}

// Stalled is for how long jobs have waited for the disk without any progress. It is 0 when none waits.
func (s *Store) Stalled() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waitingSince.IsZero() {
		return 0
	}
	return time.Since(s.waitingSince)
}

// Err is nil while the Store serves, and then ErrClosed or an ErrFailed.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// stop makes the Store accept no more jobs. The first reason stays, unless the disk fails later.
func (s *Store) stop(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = why
		s.cfg.patient.StopWaiting()
		s.notifyLocked()
	}
}

// fail ends the Store because the disk has failed, and answers all jobs. It may be called on any goroutine, also the
// committer's; the committer may be blocked in the database for ever.
func (s *Store) fail(err error) {
	why := datadir.DiskFailed(s.cfg.Dir, err)
	s.mu.Lock()
	if errors.Is(s.ended, ErrFailed) {
		s.mu.Unlock()
		return
	}
	s.ended = why
	flight, queue := s.inFlight, s.queue
	s.inFlight, s.queue = nil, nil
	close(s.failed)
	s.cfg.patient.StopWaiting()
	s.notifyLocked()
	s.mu.Unlock()
	failJobs(flight, why)
	failJobs(queue, why)
}

// notify wakes the committer.
func (s *Store) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyLocked()
}

// notifyLocked wakes the committer.
func (s *Store) notifyLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
