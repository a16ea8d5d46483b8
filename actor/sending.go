package actor

import (
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// A sending is what actors reserve in one message, with the actor of each reservation.
type sending struct {
	reservations []register.Reservation
	actors       []*actor
	done         []func([]register.Answer, error) // for each replica
	open         int                              // replicas that have not answered
	handing      atomic.Bool
}

func (sh *shard) newSending() *sending {
	s := &sending{done: make([]func([]register.Answer, error), len(sh.sys.cfg.Replicas))}
	for i := range s.done {
		s.done[i] = func(answers []register.Answer, err error) {
			sh.inbox.pushAnswers(answered{replica: i, sent: s, answers: answers, err: err})
			if !s.handing.Load() {
				sh.inbox.notify()
			}
		}
	}
	return s
}

func (s *sending) add(a *actor, w register.Writer, what *owner.Send) {
	s.actors = append(s.actors, a)
	s.reservations = append(s.reservations, register.Reservation{
		Writer: w, Seq: what.Seq, Epoch: what.Epoch,
		Partition: a.partition, Key: a.key, Limit: what.Limit,
		Generation: what.Generation, From: what.From, To: what.To, Reach: what.Reach,
	})
}

// send hands what the actors have reserved to every replica, as one message, and says whether there was anything. Then
// hearAll must follow: of answers that are given at once nobody is told.
func (sh *shard) send() bool {
	s := sh.sending
	if len(s.reservations) == 0 {
		return false
	}
	sh.sending = sh.unused()
	s.open = len(sh.sys.cfg.Replicas)
	s.handing.Store(true)
	for i, r := range sh.sys.cfg.Replicas {
		handOver(r, s.reservations, s.done[i])
	}
	s.handing.Store(false)
	return true
}

// maxSpareSendings is how many are kept to be used again: about as many as are on their way while one is synced.
const maxSpareSendings = 16

func (sh *shard) unused() *sending {
	n := len(sh.spare) - 1
	if n < 0 {
		return sh.newSending()
	}
	s := sh.spare[n]
	sh.spare = sh.spare[:n]
	return s
}

// reuse keeps the memory of a message that every replica has answered. One that has failed may go on to look at it.
func (sh *shard) reuse(batch *answered) {
	s := batch.sent
	if batch.err != nil {
		s.open = -1
	}
	if s.open--; s.open != 0 || len(sh.spare) == maxSpareSendings {
		return
	}
	clear(s.reservations)
	clear(s.actors)
	s.reservations, s.actors = s.reservations[:0], s.actors[:0]
	sh.spare = append(sh.spare, s)
}
