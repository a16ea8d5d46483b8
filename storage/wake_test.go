package storage

import "testing"

// TestNoRoundForNothing queues jobs before the committer takes them, as happens when it has just woken: when it has taken all, it does not
// wake once more for them, but for the next.
func TestNoRoundForNothing(t *testing.T) {
	s := &Store{wake: make(chan struct{}, 1)}
	s.cfg.setDefaults() // makes what stop ends
	s.push(job{})
	<-s.wake // the committer wakes
	s.push(job{})
	if jobs, _ := s.takeQueue(nil); len(jobs) != 2 || len(s.wake) != 0 {
		t.Errorf("%d of 2 jobs are taken, and %d more rounds are to come", len(jobs), len(s.wake))
	}
	if s.push(job{}); len(s.wake) != 1 {
		t.Error("the committer does not wake for a job that comes later")
	}
	s.stop(ErrClosed)
	if _, ended := s.takeQueue(nil); ended == nil {
		t.Error("the committer is not told that the Store has ended")
	}
}
