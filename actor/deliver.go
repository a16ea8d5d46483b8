package actor

import (
	"context"
	"errors"
	"math"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// errAnswers stands for answers that are not one for each reservation.
var errAnswers = errors.New("a replica gave more or fewer answers than it was asked for")

// deliverAll brings mail to its actors, in order.
func (sh *shard) deliverAll(mail []*mail, now int64) {
	var found [lookAhead]*actor
	for len(mail) > 0 {
		n := min(len(mail), lookAhead)
		for i, m := range mail[:n] {
			found[i] = sh.actors.byHash[m.hash]
		}
		sh.warm(found[:n])
		for i, m := range mail[:n] {
			a := found[i]
			if a == nil || a.gone || a.key != m.key {
				a = sh.actors.find(m.hash, m.key) // one before may have woken it
			}
			sh.deliver(m, a, now)
		}
		mail = mail[n:]
		if sh.sending.n >= maxSending {
			sh.send()
			sh.hearAll(now)
		}
	}
}

// warm brings actors into the processor's caches, all at once, and then what hangs on them.
func (sh *shard) warm(as []*actor) {
	warmth := 0
	for _, a := range as {
		if a != nil {
			warmth += len(a.key) + int(a.last)
		}
	}
	for _, a := range as {
		if a != nil {
			warmth += int(a.key[0]) + a.owner.Warm()
		}
	}
	sh.warmth = warmth
}

// refuse answers all mail with err, but for that which only looks.
func (sh *shard) refuse(mail []*mail, err error, now int64) {
	for _, m := range mail {
		if m.kind == look {
			sh.deliver(m, sh.actors.find(m.hash, m.key), now)
		} else {
			m.fail(err)
		}
	}
}

// deliver brings one mail to its actor, waking it if need be.
func (sh *shard) deliver(m *mail, a *actor, now int64) {
	if m.kind == look {
		if !sh.try(m.key, func() { m.others.looked(sh, a) }) {
			m.fail(ErrInternal)
			return
		}
		m.done()
		return
	}
	if m.call.deadline <= now {
		m.fail(context.DeadlineExceeded)
		return
	}
	if a == nil {
		if a = sh.awake(m, now); a == nil {
			return
		}
	}
	a.last = now
	if m.kind == giveBack {
		if sh.step(a, now, m, func() { m.others.giveBack(a, now) }) {
			m.done()
		}
		return
	}
	sh.step(a, now, m, func() {
		if m.kind == check {
			sh.check(a, m, now)
		} else if !sh.full(a, m, now) {
			a.owner.Reset(m, m.rules[0], now, m.call.deadline, &sh.out)
		}
	})
}

// giveBack returns what the receipts prove to the key's actor.
func (o *others) giveBack(a *actor, now int64) {
	o.returned = make([]bool, len(o.receipts))
	for i, r := range o.receipts {
		o.returned[i] = a.owner.Return(r, now)
		if o.returned[i] && a.requests != nil {
			a.requests.returned(&r)
		}
	}
}

// hearAll takes in what replicas have answered.
func (sh *shard) hearAll(now int64) {
	sh.heard = sh.inbox.takeAnswers(sh.heard)
	for i := range sh.heard {
		sh.hear(&sh.heard[i], now)
	}
}

// hear takes in what one replica has answered to one message. To an actor whose partition has gone to another set
// meanwhile it means nothing: there, the number of the replica is another one's.
func (sh *shard) hear(batch *answered, now int64) {
	set := batch.sent.set
	if len(batch.answers) != len(batch.sent.actors) && batch.err == nil {
		batch.err = errAnswers
	}
	if batch.err != nil {
		sh.sys.metrics.lost.WithLabelValues(set.Names[batch.replica]).Inc()
	}
	none := owner.Lost // the verdict where there is no answer
	if errors.Is(batch.err, ErrGone) {
		none = owner.Gone
	}
	for i, a := range batch.sent.actors {
		if i%lookAhead == 0 {
			sh.warm(batch.sent.actors[i:min(i+lookAhead, len(batch.sent.actors))])
		}
		if a.gone {
			continue
		}
		r := &batch.sent.reservations[i]
		answer := owner.Answer{Replica: batch.replica, Limit: r.Limit, Seq: r.Seq, Epoch: r.Epoch, Verdict: none}
		if batch.err == nil {
			said := &batch.answers[i]
			answer.Verdict, answer.Position, answer.Generation = verdict(said.Verdict), said.Position, said.Generation
			sh.counts.answer(said.Verdict)
		}
		sh.step(a, now, nil, func() {
			if sh.places[a.partition].Set == set {
				a.owner.Answer(answer, now, &sh.out)
			}
		})
	}
	sh.reuse(batch)
}

// verdict is what a replica's verdict means to an owner. One that this version does not know tells it nothing.
func verdict(v register.Verdict) owner.Verdict {
	switch v {
	case register.Accepted:
		return owner.Accepted
	case register.Taken, register.TooFar:
		return owner.Refused
	case register.OldGeneration:
		return owner.Reset
	case register.Skewed:
		return owner.Skewed
	case register.Full:
		return owner.Full
	case register.WrongEpoch, register.Sealed:
	}
	return owner.Elsewhere
}

// ring does what has become due for an actor.
func (sh *shard) ring(a *actor, now int64) {
	sh.alarms.remove(a)
	sh.step(a, now, nil, func() { a.owner.Wake(now, &sh.out) })
}

// call visits an actor, which is the next one of its pace: it may be time to forget it, or to set an alarm for what is due
// before the next visit.
func (sh *shard) call(a *actor, pace int, now int64) {
	sh.visits.queues[pace].pop()
	if a.gone {
		return
	}
	a.visit = now + int64(sh.sys.cfg.IdleAfter)
	ok := sh.step(a, now, nil, func() {
		if a.owner.Due() <= now {
			a.owner.Wake(now, &sh.out)
		}
		if a.requests != nil {
			a.requests.prune(now)
		}
	})
	if !ok {
		return
	}
	quiet := a.last + int64(sh.sys.cfg.IdleAfter)
	if sh.held > sh.budget.idle {
		quiet = 0
	}
	if a.requests != nil {
		quiet = max(quiet, a.requests.until())
	}
	idle, again := a.owner.Idle(now)
	if idle && now >= quiet {
		sh.forget(a, nil)
		return
	}
	pace = 0
	if again < math.MaxInt64 {
		pace = paceOf(max(quiet, again)-now, sh.sys.cfg.IdleAfter)
	}
	a.visit = now + int64(sh.sys.cfg.IdleAfter)<<pace
	sh.visits.queues[pace].add(a)
	sh.alert(a)
}
