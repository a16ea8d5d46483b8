package actor

import (
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// A sending is what actors reserve at one set of replicas in one message, with the actor of each reservation.
type sending struct {
	set          *ReplicaSet // nil: not in use
	reservations []register.Reservation
	actors       []*actor
	done         []func([]register.Answer, error) // for each replica
	open         int                              // replicas that have not answered
	handing      atomic.Bool
}

// sendings are a shard's.
type sendings struct {
	last  *sending   // the one that was added to last; nil if nothing was
	all   []*sending // that are to be sent, each to another set
	n     int        // reservations in them
	spare []*sending // to be used again
}

// toward is the message that is to go to set.
func (sh *shard) toward(set *ReplicaSet) *sending {
	if s := sh.sending.last; s != nil && s.set == set { // mostly
		return s
	}
	for _, s := range sh.sending.all {
		if s.set == set {
			sh.sending.last = s
			return s
		}
	}
	s := sh.unused()
	s.set = set
	for i := len(s.done); i < len(set.Replicas); i++ {
		s.done = append(s.done, sh.hearFrom(s, i))
	}
	sh.sending.last, sh.sending.all = s, append(sh.sending.all, s)
	return s
}

// hearFrom takes what a replica answers to s.
func (sh *shard) hearFrom(s *sending, replica int) func([]register.Answer, error) {
	return func(answers []register.Answer, err error) {
		sh.inbox.pushAnswers(answered{replica: replica, sent: s, answers: answers, err: err})
		if !s.handing.Load() {
			sh.inbox.notify()
		}
	}
}

// reserve adds what an actor wants to reserve to the message for its replicas.
func (sh *shard) reserve(a *actor, set *ReplicaSet, what *owner.Send) {
	s := sh.toward(set)
	s.actors = append(s.actors, a)
	s.reservations = append(s.reservations, register.Reservation{
		Writer: register.Writer(sh.sys.id), Seq: what.Seq, Epoch: what.Epoch,
		Partition: a.partition, Key: a.key, Limit: what.Limit,
		Generation: what.Generation, From: what.From, To: what.To, Reach: what.Reach, Inline: what.Inline,
	})
	sh.sending.n++
	sh.counts.sent(what.Background)
}

// send hands what the actors have reserved to every replica, as one message for each set of them, and says whether there
// was anything. Then hearAll must follow: of answers that are given at once nobody is told.
func (sh *shard) send() bool {
	if sh.sending.n == 0 {
		return false
	}
	sh.sending.last, sh.sending.n = nil, 0
	for i, s := range sh.sending.all {
		sh.sending.all[i] = nil
		s.open = len(s.set.Replicas)
		s.handing.Store(true)
		for r, replica := range s.set.Replicas {
			replica.Reserve(s.reservations, s.done[r])
		}
		s.handing.Store(false)
	}
	sh.sending.all = sh.sending.all[:0]
	return true
}

// maxSpareSendings is how many are kept to be used again: about as many as are on their way while one is synced.
const maxSpareSendings = 16

func (sh *shard) unused() *sending {
	if s, ok := pop(&sh.sending.spare); ok {
		return s
	}
	return &sending{}
}

// reuse keeps the memory of a message that every replica has answered. One that has failed may go on to look at it.
func (sh *shard) reuse(batch *answered) {
	s := batch.sent
	if batch.err != nil {
		s.open = -1
	}
	if s.open--; s.open != 0 || len(sh.sending.spare) == maxSpareSendings {
		return
	}
	clear(s.reservations)
	clear(s.actors)
	s.set, s.reservations, s.actors = nil, s.reservations[:0], s.actors[:0]
	sh.sending.spare = append(sh.sending.spare, s)
}

func pop[T any](list *[]*T) (last *T, ok bool) {
	n := len(*list) - 1
	if n < 0 {
		return nil, false
	}
	last = (*list)[n]
	(*list)[n] = nil
	*list = (*list)[:n]
	return last, true
}
