package actor

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// errFullMailbox answers checks of a key that has too many waiting already.
var errFullMailbox = fmt.Errorf("%w: too many checks of this key are waiting", limit.ErrOverloaded)

// An actor is one key that is awake: its owner's state, and what this package adds to it.
type actor struct {
	key       string
	partition ring.Partition
	owner     *owner.Owner
	last      int64 // when it was last asked something
	alarm     int64 // when to look at it again
	index     int   // in the shard's alarms
	requests  *requests
}

// A shard is one goroutine that runs many actors, one at a time.
type shard struct {
	sys   *System
	inbox inbox

	awakeNow atomic.Int64 // how many actors there are, for others to read

	// The shard's goroutine's own.
	actors  map[string]*actor
	alarms  alarms
	out     owner.Out
	sending []register.Reservation
	counts  counts
}

func newShard(s *System) *shard {
	sh := &shard{sys: s, actors: map[string]*actor{}, counts: newCounts(s.metrics)}
	sh.inbox = inbox{
		bound:    s.cfg.Inbox,
		wake:     make(chan struct{}, 1),
		rejected: func(n int) { s.metrics.rejected.Add(float64(n)) },
	}
	return sh
}

// run is the shard's goroutine. It ends when the inbox is closed.
func (sh *shard) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var (
		mail    []*mail
		answers []answered
		closed  bool
	)
	for !closed {
		timer.Reset(sh.pause())
		select {
		case <-sh.inbox.wake:
		case <-timer.C:
		}
		mail, answers, closed = sh.inbox.take(mail, answers)
		// Read after what has arrived was taken: a check's time lies within its call.
		now := sh.sys.cfg.Now()
		for i := range answers {
			sh.hear(&answers[i], now)
		}
		for _, m := range mail {
			sh.deliver(m, now)
		}
		for len(sh.alarms) > 0 && sh.alarms[0].alarm <= now {
			sh.ring(sh.alarms[0], now)
		}
		sh.send()
		sh.awakeNow.Store(int64(len(sh.actors)))
	}
	for _, a := range sh.actors {
		sh.forget(a, errStopping)
	}
}

// pause is how long the shard may sleep.
func (sh *shard) pause() time.Duration {
	if len(sh.alarms) == 0 {
		return time.Hour
	}
	return time.Duration(max(sh.alarms[0].alarm-sh.sys.cfg.Now(), 0))
}

// deliver brings one mail to its actor, waking it if need be.
func (sh *shard) deliver(m *mail, now int64) {
	a := sh.actors[m.key]
	if m.kind == look {
		m.looked(sh, a)
		m.call.answered()
		return
	}
	if m.deadline <= now {
		m.fail(context.DeadlineExceeded)
		return
	}
	if a == nil {
		if m.kind == giveBack {
			m.returned = make([]bool, len(m.receipts))
			m.call.answered()
			return
		}
		a = sh.awake(m, now)
	}
	a.last = now
	returns := m.kind == giveBack // read before the step: a check may have been answered in it, and m be another's
	ok := sh.step(a, now, m, func() {
		switch m.kind {
		case check:
			sh.check(a, m, now)
		case giveBack:
			m.returned = make([]bool, len(m.receipts))
			for i, r := range m.receipts {
				m.returned[i] = a.owner.Return(r, now)
			}
		case reset:
			a.owner.Reset(m, m.rules[0], now, m.deadline, &sh.out)
		case look:
		}
	})
	if ok && returns {
		m.call.answered()
	}
}

// check puts one check before the owner, unless its request id has an answer already.
func (sh *shard) check(a *actor, m *mail, now int64) {
	if m.id != "" {
		if a.requests == nil {
			a.requests = newRequests()
		}
		reply, ready, repeats := a.requests.known(m, now)
		if ready {
			m.repeats = true
			sh.out.Replies = append(sh.out.Replies, reply)
		}
		if repeats {
			return
		}
	}
	if a.owner.Waiting() >= sh.sys.cfg.Mailbox {
		sh.sys.metrics.rejected.Inc()
		sh.out.Replies = append(sh.out.Replies, owner.Reply{Tag: m, Err: errFullMailbox})
		return
	}
	a.owner.Check(owner.Check{
		Tag: m, At: now, Deadline: m.deadline, Rules: m.rules, Cost: m.cost, Receipts: m.receipt,
	}, &sh.out)
}

// awake makes the actor of m's key.
func (sh *shard) awake(m *mail, now int64) *actor {
	s := sh.sys
	a := &actor{
		key:       m.key,
		partition: ring.PartitionOf(m.hash, s.cfg.Partitions),
		owner:     owner.New(&s.owners, s.id, storage.FirstEpoch),
		alarm:     now + int64(s.cfg.IdleAfter),
	}
	sh.actors[a.key] = a
	sh.alarms.add(a)
	return a
}

// hear takes in what a replica has answered.
func (sh *shard) hear(batch *answered, now int64) {
	for i, r := range batch.reservations {
		a := sh.actors[r.Key]
		if a == nil {
			continue
		}
		answer := owner.Answer{Replica: batch.replica, Limit: r.Limit, Seq: r.Seq, Verdict: owner.Lost}
		if batch.err == nil {
			said := batch.answers[i]
			answer.Verdict, answer.Position, answer.Generation = verdict(said.Verdict), said.Position, said.Generation
			sh.counts.answer(said.Verdict)
		}
		sh.step(a, now, nil, func() { a.owner.Answer(answer, now, &sh.out) })
	}
}

// verdict is what a replica's verdict means to an owner.
func verdict(v register.Verdict) owner.Verdict {
	switch v {
	case register.Accepted:
		return owner.Accepted
	case register.OldGeneration:
		return owner.Reset
	case register.Skewed:
		return owner.Skewed
	case register.Taken, register.WrongEpoch, register.Sealed, register.TooFar:
	}
	return owner.Refused
}

// ring does what an actor's alarm was set for: something is due, or it may be time to forget it.
func (sh *shard) ring(a *actor, now int64) {
	sh.step(a, now, nil, func() {
		if a.owner.Due() <= now {
			a.owner.Wake(now, &sh.out)
		}
	})
	if sh.actors[a.key] != a {
		return
	}
	quiet := a.last + int64(sh.sys.cfg.IdleAfter)
	if a.requests != nil {
		quiet = max(quiet, a.requests.until())
	}
	idle, again := a.owner.Idle(now)
	if idle && now >= quiet {
		sh.forget(a, nil)
		return
	}
	if again == math.MaxInt64 || again <= now {
		again = now + int64(sh.sys.cfg.IdleAfter)
	}
	if quiet > now {
		again = max(again, quiet)
	}
	sh.alarms.set(a, max(min(again, a.owner.Due()), now+1))
}

// step runs one actor and passes on what comes of it. If it panics, the actor is forgotten with all that it held, and
// everybody who waits for it, m included, gets an error: a bug must neither stop the node nor leave the key stuck.
func (sh *shard) step(a *actor, now int64, m *mail, f func()) (ok bool) {
	sh.out.Reset()
	if !sh.try(a, f) {
		sh.crash(a, m, now)
		return false
	}
	for _, s := range sh.out.Sends {
		sh.sending = append(sh.sending, register.Reservation{
			Writer: register.Writer(sh.sys.id), Seq: s.Seq, Epoch: s.Epoch, Now: now,
			Partition: a.partition, Key: a.key, Limit: s.Limit,
			Generation: s.Generation, From: s.From, To: s.To, Reach: s.Reach,
		})
		sh.counts.sent(s.Background)
	}
	for _, r := range sh.out.Replies {
		sh.answer(a, r, now)
	}
	if due := a.owner.Due(); due < a.alarm {
		sh.alarms.set(a, due)
	}
	return true
}

// try calls f and says whether it came back.
func (sh *shard) try(a *actor, f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			sh.sys.metrics.panics.Inc()
			sh.sys.cfg.Logger.Error("an actor panicked and was forgotten", "key", a.key, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	sh.sys.cfg.beforeStep(a.key)
	f()
	return true
}

// answer gives a caller what it waits for. A decision made too late is dropped.
func (sh *shard) answer(a *actor, r owner.Reply, now int64) {
	m := r.Tag.(*mail) //nolint:forcetypeassert // this package puts nothing else there
	if m.kind == check && !m.repeats {
		if r.Err == nil {
			sh.counts.decision(m, r.Decision)
		}
		if m.id != "" {
			a.requests.answer(m, r, now)
		}
	}
	if r.Err != nil {
		m.fail(r.Err)
		return
	}
	m.reply(r.Decision)
}

// crash forgets an actor whose step has panicked. What the step had decided before stands: its line was reserved.
func (sh *shard) crash(a *actor, m *mail, now int64) {
	waiting := map[*mail]bool{}
	a.owner.Tags(func(tag any) { waiting[tag.(*mail)] = true }) //nolint:forcetypeassert // as above
	if m != nil {
		waiting[m] = true
	}
	for _, r := range sh.out.Replies {
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

func (sh *shard) remove(a *actor) {
	delete(sh.actors, a.key)
	sh.alarms.remove(a)
}

// send hands what the actors have reserved to every replica, as one batch.
func (sh *shard) send() {
	if len(sh.sending) == 0 {
		return
	}
	batch := sh.sending
	sh.sending = make([]register.Reservation, 0, len(batch))
	for i, r := range sh.sys.cfg.Replicas {
		handOver(r, batch, func(answers []register.Answer, err error) {
			sh.inbox.pushAnswers(answered{replica: i, reservations: batch, answers: answers, err: err})
		})
	}
}
