package actor

import (
	"slices"
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A sending is what actors reserve at one set of replicas in one message, with the actor of each reservation.
type sending struct {
	set          *ReplicaSet // nil: not in use
	reservations []register.Reservation
	actors       []*actor
	done         []func([]register.Answer, error) // for each replica
	open         int                              // replicas whose answers no round has taken in
	handing      atomic.Bool
	heard        int  // guarded by the inbox's lock: replicas that have answered
	wanting      bool // likewise: one of them has not accepted everything, so each further answer counts
}

// accepts says whether a replica has accepted everything.
func (s *sending) accepts(answers []register.Answer, err error) bool {
	return err == nil && len(answers) == len(s.reservations) &&
		!slices.ContainsFunc(answers, func(a register.Answer) bool { return a.Verdict != register.Accepted })
}

// arrives notes an answer, and says whether somebody waits for it. While every replica accepts, only the answer that completes a majority
// decides anything: the ones before and after it are taken in by the next round, whenever that is.
func (s *sending) arrives(accepted bool) bool {
	s.heard++
	s.wanting = s.wanting || !accepted
	return s.wanting || s.heard == ring.Majority(len(s.set.Replicas))
}

// sendings are a shard's.
type sendings struct {
	last  *sending   // the one that was added to last; nil if nothing was
	all   []*sending // that are to be sent, each to another set
	n     int        // reservations in them
	spare []*sending // to be used again

	arrived func(a answered) // takes what a replica has answered, from any goroutine
}

// answered is what a replica said to the reservations that a shard had sent to it.
type answered struct {
	replica int
	sent    *sending
	answers []register.Answer
	err     error
}

// add puts what an actor wants to reserve, as the owner called id, into the message for its replicas. Trace is the span that waits for it,
// or nil.
func (ss *sendings) add(a *actor, id limit.OwnerID, set *ReplicaSet, what *owner.Send, trace limit.Trace) {
	s := ss.toward(set)
	s.actors = append(s.actors, a)
	s.reservations = append(s.reservations, register.Reservation{
		Writer: register.Writer(id), Seq: what.Seq, Epoch: what.Epoch,
		Partition: a.partition, Key: a.key, Limit: what.Limit,
		Generation: what.Generation, From: what.From, To: what.To, Reach: what.Reach, Lead: what.Lead, Inline: what.Inline,
		Claim: what.Claim, Ledger: what.Ledger, Expire: what.Expire,
	})
	if trace != nil {
		s.reservations[len(s.reservations)-1].Trace = trace.Text()
	}
	ss.n++
}

// toward is the message that is to go to set.
func (ss *sendings) toward(set *ReplicaSet) *sending {
	if s := ss.last; s != nil && s.set == set { // mostly
		return s
	}
	for _, s := range ss.all {
		if s.set == set {
			ss.last = s
			return s
		}
	}
	s := ss.unused()
	s.set = set
	for i := len(s.done); i < len(set.Replicas); i++ {
		s.done = append(s.done, func(answers []register.Answer, err error) {
			ss.arrived(answered{replica: i, sent: s, answers: answers, err: err})
		})
	}
	ss.last, ss.all = s, append(ss.all, s)
	return s
}

// maxSending is after how many reservations a shard sends, and receives what has been answered, without finishing its round:
// what it has in hand is to stay in the processor's caches.
const maxSending = 128

// send hands what the actors have reserved to every replica, as one message for each set of them, and says whether there
// was anything. The caller then takes in the answers: no goroutine is woken for those that replicas give at once.
func (ss *sendings) send() bool {
	if ss.n == 0 {
		return false
	}
	ss.last, ss.n = nil, 0
	for i, s := range ss.all {
		ss.all[i] = nil
		s.open = len(s.set.Replicas)
		s.heard, s.wanting = 0, false
		s.handing.Store(true)
		for r, replica := range s.set.Replicas {
			replica.Reserve(s.reservations, s.done[r])
		}
		s.handing.Store(false)
	}
	ss.all = ss.all[:0]
	return true
}

// reuse keeps the memory of a message that every replica has answered. One that has failed may go on to look at it.
func (ss *sendings) reuse(batch *answered) {
	s := batch.sent
	if batch.err != nil {
		s.open = -1
	}
	if s.open--; s.open != 0 || len(ss.spare) == maxSpareSendings {
		return
	}
	clear(s.reservations)
	clear(s.actors)
	s.set, s.reservations, s.actors = nil, s.reservations[:0], s.actors[:0]
	ss.spare = append(ss.spare, s)
}

// maxSpareSendings is how many are kept to be used again: about as many as are on their way while one is synced.
const maxSpareSendings = 16

func (ss *sendings) unused() *sending {
	if s, ok := pop(&ss.spare); ok {
		return s
	}
	return &sending{}
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
