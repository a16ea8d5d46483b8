package actor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// ErrInternal means that deciding panicked: a bug of jeton's. The key's actor was forgotten, and the next check of the
// key starts afresh.
var ErrInternal = errors.New("internal error")

// turn takes what has arrived and does it. It returns the time at which it did, and whether the inbox is closed. One check, from the
// inbox to its answer:
//
//	turn                     takes the round's mail, reads the clock
//	├─ receiveAll            what replicas have answered, each as a step of its actor
//	└─ deliverAll            32 at a time: their actors are fetched into the caches together
//	   └─ deliver            finds the actor, or wakes one
//	      └─ step            where the key's partition is now
//	         ├─ check        by its request id, or by the owner: [owner.Owner.Check]
//	         ├─ sending.add  what the owner reserves
//	         └─ answer       what the owner has decided
//	finish                   sends, wakes the callers
func (sh *shard) turn() (now int64, closed bool) {
	sh.mail, closed = sh.inbox.take(sh.mail)
	sh.clockJumped()
	// Read after what has arrived was taken: a check's time lies within its call.
	now = sh.cfg.Now()
	sh.heat.roll(now)
	sh.receiveAll(now)
	if err := sh.serving(); err != nil {
		sh.refuseAll(sh.mail, err, now)
	} else {
		sh.deliverAll(sh.mail, now)
	}
	return now, closed
}

// serving is why the mail of this round is not to be delivered, or nil.
func (sh *shard) serving() error {
	if len(sh.mail) == 0 || sh.cfg.Serving == nil {
		return nil
	}
	return sh.cfg.Serving()
}

// errClockJumped answers what waits when the node clock is put forward.
var errClockJumped = fmt.Errorf("%w: this node's clock was behind, and has just been put forward", limit.ErrUnavailable)

// clockJumped looks whether the node clock was put forward since the last round, and answers what waits if so. Until then the
// clock was behind: the machine was suspended. A check that waits was given a time by it that may lie long before the
// check arrived, and replicas that did not accept that before would accept it now. It would spend line of a past that its
// bucket may have spent already, as far as the bucket's own time is concerned.
//
// It is called before the clock is read for a round: so no check of that round, or a later one, has an older time.
func (sh *shard) clockJumped() {
	ahead := sh.cfg.Ahead()
	if ahead == sh.ahead {
		return
	}
	sh.ahead = ahead
	sh.timer = math.MaxInt64 // it was set by the clock as it went before: what is due now comes too late by it
	for a := range sh.actors.all() {
		if a.owner.Waiting() > 0 {
			sh.forget(a, errClockJumped)
		}
	}
}

// receiveAll takes in what replicas have answered.
func (sh *shard) receiveAll(now int64) {
	sh.answers = sh.inbox.takeAnswers(sh.answers)
	for i := range sh.answers {
		sh.receive(&sh.answers[i], now)
	}
}

// receive takes in what one replica has answered to one message. To an actor whose partition has gone to another set
// meanwhile it means nothing: there, the number of the replica is another one's.
func (sh *shard) receive(batch *answered, now int64) {
	set := batch.sent.set
	if len(batch.answers) != len(batch.sent.actors) && batch.err == nil {
		batch.err = errAnswers
	}
	if batch.err != nil {
		sh.metrics.lost.WithLabelValues(set.Names[batch.replica]).Inc()
	}
	none := owner.Lost // the verdict where there is no answer
	if errors.Is(batch.err, ErrGone) {
		none = owner.Gone
	}
	for i, a := range batch.sent.actors {
		if i%lookAhead == 0 {
			sh.prefetch(batch.sent.actors[i:min(i+lookAhead, len(batch.sent.actors))])
		}
		if a.gone {
			continue
		}
		r := &batch.sent.reservations[i]
		answer := owner.Answer{Replica: batch.replica, Limit: r.Limit, Seq: r.Seq, Epoch: r.Epoch, Verdict: none}
		if batch.err == nil {
			said := &batch.answers[i]
			answer.Verdict, answer.Position, answer.Generation = owner.VerdictOf(said.Verdict), said.Position, said.Generation
			answer.Version, answer.Ledger, answer.Floored = said.Version, said.Ledger, said.Floored
			sh.counts.answer(said.Verdict)
		}
		sh.step(a, now, nil, func() {
			if sh.places[a.partition].Set == set {
				a.owner.Answer(answer, now, &sh.out)
			}
		})
	}
	sh.sending.reuse(batch)
}

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
		sh.prefetch(found[:n])
		for i, m := range mail[:n] {
			a := found[i]
			if a == nil || a.gone || a.key != m.key {
				a = sh.actors.find(m.hash, m.key) // one before may have woken it
			}
			sh.deliver(m, a, now)
		}
		mail = mail[n:]
		if sh.sending.n >= maxSending {
			sh.sending.send()
			sh.receiveAll(now)
		}
	}
}

// prefetch brings actors into the processor's caches, all at once, and then what hangs on them.
func (sh *shard) prefetch(as []*actor) {
	warmth := 0
	for _, a := range as {
		if a != nil {
			warmth += len(a.key) + int(a.last)
		}
	}
	for _, a := range as {
		if a != nil {
			warmth += int(a.key[0]) + a.owner.Prefetch()
		}
	}
	sh.prefetched = warmth
}

// refuseAll answers all mail with err, but for that which only looks.
func (sh *shard) refuseAll(mail []*mail, err error, now int64) {
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
		if !sh.try(m.key, m.other.look) {
			m.fail(ErrInternal)
			return
		}
		m.done()
		return
	}
	if m.bundle.deadline <= now {
		m.fail(context.DeadlineExceeded)
		return
	}
	if a == nil {
		if a = sh.wake(m, now); a == nil {
			return
		}
	}
	if a.last < sh.heat.start {
		a.heat = 0
	}
	a.last = now
	if m.kind == check {
		sh.heat.count(a)
	}
	sh.step(a, now, m, func() {
		switch {
		case m.kind == check:
			sh.check(a, m, now)
		case m.kind == giveBack && len(m.rules) == 0:
			m.giveBack(a, now, &sh.out)
			sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m})
		case sh.rejectFull(a, m, now):
		case m.kind == giveBack:
			m.giveBack(a, now, &sh.out)
			a.owner.TakeOut(m, m.other.permits, now, m.bundle.deadline, &sh.out)
		case m.kind == settle:
			a.owner.Settle(m, m.other.settles, now, m.bundle.deadline, &sh.out)
		default:
			a.owner.Reset(m, m.rules[0], now, m.bundle.deadline, &sh.out)
		}
	})
}

// wake makes the actor of m's key, with the line that it held when it became dormant, or answers m if it needs none. The key is copied: it
// may be a part of something larger.
func (sh *shard) wake(m *mail, now int64) *actor {
	partition := ring.PartitionOf(m.hash, sh.cfg.Partitions)
	at := sh.placeOf(partition)
	switch {
	case at.Placement == nil:
		sh.dormantOf(partition, at)
		m.fail(ErrMoved)
		return nil
	case m.kind == giveBack && len(m.rules) == 0: // there is nothing that it could come back to
		m.done()
		return nil
	}
	rest, dormant := sh.takeRest(m.key, partition, at)
	if !dormant && (sh.held > sh.budget.keys || sh.cfg.Full()) {
		sh.shedLog.count(shedKeys, 1)
		m.fail(errNoMemory)
		return nil
	}
	a := &actor{
		key:       strings.Clone(m.key),
		partition: partition,
		owner:     owner.Owner{Terms: at.terms},
		visit:     now + int64(sh.cfg.IdleAfter),
	}
	if dormant {
		a.owner.Restore(rest, now)
	}
	sh.actors.add(m.hash, a)
	sh.visits.queues[0].add(a)
	sh.held += a.bytes()
	return a
}

// check puts one check before the owner, unless its request id has an answer already, or will have one.
func (sh *shard) check(a *actor, m *mail, now int64) {
	if m.id == "" {
		switch {
		case sh.rejectFull(a, m, now):
		case sh.heat.refuses(a, m, now):
			cold := limit.Outcome{Name: m.rules[0].Name, Limit: m.rules[0].Capacity}
			sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Decision: limit.Decision{Limits: []limit.Outcome{cold}}})
		default:
			a.decide(m, now, &sh.out)
		}
		return
	}
	if a.requests == nil {
		a.requests = newRequests()
	}
	switch r := a.requests.find(m.id, now); {
	case r != nil && r.asked != a.requests.asked(m):
		m.repeats = true
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errReused})
	case r != nil && r.first == nil:
		m.repeats = true
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Decision: r.again(now)})
	case sh.rejectFull(a, m, now):
	case r != nil:
		a.requests.attach(r, m)
	default:
		a.requests.add(m, now)
		a.decide(m, now, &sh.out)
	}
}

// step runs one actor, where its partition is now, and passes on what comes of it. It says whether f came back; otherwise
// the actor has been forgotten, with all that it held, and every check that waits for it, m included, has got an error:
// because the partition has gone, or because of a bug, which must neither stop the node nor leave the key stuck.
func (sh *shard) step(a *actor, now int64, m *mail, f func()) (ok bool) {
	sh.weigh(a, func() { ok = sh.stepWeighed(a, now, m, f) })
	return ok
}

// stepWeighed is step for an actor that is being weighed.
func (sh *shard) stepWeighed(a *actor, now int64, m *mail, f func()) (ok bool) {
	at := sh.placeOf(a.partition)
	trace, own := sh.traces.of(a, m)
	sh.out.Reset()
	switch {
	case a.owner.Terms == at.terms:
		ok = sh.try(a.key, f)
	case at.Placement == nil:
		sh.forgetMoved(a, m)
		return false
	default:
		ok = sh.enterEpoch(a, at, now, f)
	}
	if !ok {
		sh.crash(a, m, now)
		return false
	}
	for i := range sh.out.Sends {
		send := &sh.out.Sends[i]
		sh.sending.add(a, sh.id, at.Set, send, trace)
		sh.counts.sent(send.Background)
	}
	if trace != nil {
		sh.traces.note(a, m, trace, own, &sh.out)
	}
	for i := range sh.out.Replies {
		sh.answer(a, &sh.out.Replies[i], now)
	}
	sh.counts.expired(sh.out.Expired)
	sh.setAlarm(a)
	return true
}

// enterEpoch lets an actor enter the epoch of its partition, and then tries f.
func (sh *shard) enterEpoch(a *actor, at *place, now int64, f func()) bool {
	sh.counts.entered.n++
	return sh.try(a.key, func() {
		a.owner.Enter(at.terms, now, &sh.out)
		f()
	})
}

// forgetMoved forgets an actor whose partition this node has no longer. m is what was being asked of it, or nil.
func (sh *shard) forgetMoved(a *actor, m *mail) {
	sh.forget(a, ErrMoved)
	if m != nil {
		m.fail(ErrMoved)
	}
}

// try calls f, which does something with the actor of a key, and says whether it came back.
func (sh *shard) try(key string, f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			sh.metrics.panics.Inc()
			sh.cfg.Logger.Error("an actor panicked", "key", sh.labels.of(key), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	sh.cfg.beforeStep(key)
	f()
	return true
}

// answer gives a caller what it waits for, and also the callers that wait for the same answer. If the time of the first one
// has run out, those that have time left ask anew.
func (sh *shard) answer(a *actor, r *owner.Reply, now int64) {
	m := r.Tag.(*mail) //nolint:forcetypeassert // this package puts nothing else there
	if r.Err != nil {
		r.Err = sh.explain(a.partition, r.Err)
	}
	if m.kind == check && !m.repeats {
		if r.Err == nil {
			sh.decided(a, m, r, now)
		}
		if m.id != "" {
			for _, again := range a.requests.answer(m, r.Decision, r.Err, now) {
				if errors.Is(r.Err, context.DeadlineExceeded) && again.bundle.deadline > now {
					again.leaveWindow()
					sh.inbox.push(again)
					sh.inbox.notify()
				} else {
					sh.replied.answer(again, copyOf(r.Decision), r.Err)
				}
			}
		}
	}
	switch {
	case r.Err != nil:
	case m.kind == giveBack:
		m.tookOut(a)
	case m.kind == settle:
		sh.counts.settlement(m.other.settles)
		m.settledFor(a)
	}
	sh.replied.answer(m, r.Decision, r.Err)
}

// decided counts what the owner has decided about a check.
func (sh *shard) decided(a *actor, m *mail, r *owner.Reply, now int64) {
	switch {
	case m.lease != nil:
		r.Decision.Lease = r.Lease
		cold := r.Lease == nil && sh.heat.refuses(a, m, now)
		sh.counts.lease(m.rules[0], r.Lease, cold)
		if cold {
			return // and nobody has looked at the bucket
		}
		if r.Lease != nil && m.rules[0].LeasedWhenHot() {
			sh.heat.lease(a.key, now)
		}
	case m.charge:
		sh.counts.report(m.rules[0], m.cost)
	default:
		sh.counts.decision(m, &r.Decision)
		if !r.Decision.Allowed {
			sh.heat.deny(a)
		}
		if r.Decision.Hold != nil {
			sh.counts.hold(r.Decision.Hold)
		}
	}
	sh.gauges.note(a.key, m.rules, &r.Decision, now)
}

// crash forgets an actor whose step has panicked. What the step had decided before stands: its line was reserved.
func (sh *shard) crash(a *actor, m *mail, now int64) {
	waiting := map[*mail]bool{}
	a.owner.Tags(func(tag any) { waiting[tag.(*mail)] = true }) //nolint:forcetypeassert // as above
	if m != nil {
		waiting[m] = true
	}
	for i := range sh.out.Replies {
		r := &sh.out.Replies[i]
		delete(waiting, r.Tag.(*mail)) //nolint:forcetypeassert // as above
		sh.answer(a, r, now)
	}
	for m := range waiting {
		m.fail(ErrInternal)
	}
	if a.requests != nil {
		a.requests.fail(ErrInternal)
	}
	sh.remove(a)
}

// forget drops an actor, and answers what waits for it with err.
func (sh *shard) forget(a *actor, err error) {
	a.owner.Tags(func(tag any) { tag.(*mail).fail(err) }) //nolint:forcetypeassert // as above
	if a.requests != nil && err != nil {
		a.requests.fail(err)
	}
	sh.remove(a)
}

// remove drops an actor. It is left in the visits: who visits it sees that it is gone.
func (sh *shard) remove(a *actor) {
	if sh.weighing != a {
		sh.held -= a.bytes()
	}
	a.gone = true
	sh.traces.forget(a)
	sh.actors.remove(a)
	sh.alarms.remove(a)
}

// finish passes on what a round has come to.
func (sh *shard) finish(now int64) {
	for sh.sending.send() { // a replica may answer at once
		sh.receiveAll(now)
	}
	sh.replied.flush()
	sh.inbox.reopen()
	sh.counts.flush(now)
	sh.awakeNow.Store(int64(sh.actors.len()))
	sh.dormantNow.Store(int64(sh.dormant.n))
	sh.heldNow.Store(sh.held)
}
