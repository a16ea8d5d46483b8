package actor

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// maxSending is after how many reservations a shard sends without finishing its round.
const maxSending = 1024

// A shard is one goroutine that runs many actors, one at a time.
type shard struct {
	sys   *System
	inbox inbox

	awakeNow atomic.Int64 // how many actors there are, for others to read

	// The shard's goroutine's own.
	actors  map[string]*actor
	alarms  alarms
	most    int // actors since the last shrinking
	out     owner.Out
	sending []register.Reservation
	counts  counts
}

func newShard(s *System) *shard {
	sh := &shard{sys: s, actors: map[string]*actor{}, most: fewActors, counts: newCounts(s.metrics)}
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
			if len(sh.sending) >= maxSending {
				sh.send()
			}
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
	sh.awakeNow.Store(0)
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
		if !sh.try(m.key, func() { m.looked(sh, a) }) {
			m.fail(ErrInternal)
			return
		}
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
			if !sh.full(a, m) {
				a.owner.Reset(m, m.rules[0], now, m.deadline, &sh.out)
			}
		case look:
		}
	})
	if ok && returns {
		m.call.answered()
	}
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
		a.requests.prune(now)
		quiet = max(quiet, a.requests.until())
	}
	idle, again := a.owner.Idle(now)
	switch {
	case idle && now >= quiet:
		sh.forget(a, nil)
		return
	case idle:
		again = quiet
	case again == math.MaxInt64:
		again = now + int64(sh.sys.cfg.IdleAfter) // something waits or is in flight: it is not known for how long
	default:
		again = max(again, quiet)
	}
	sh.alarms.set(a, max(min(again, a.owner.Due()), now+1))
}

// step runs one actor and passes on what comes of it. If it panics, the actor is forgotten with all that it held, and
// everybody who waits for it, m included, gets an error: a bug must neither stop the node nor leave the key stuck.
func (sh *shard) step(a *actor, now int64, m *mail, f func()) (ok bool) {
	sh.out.Reset()
	if !sh.try(a.key, f) {
		sh.crash(a, m, now)
		return false
	}
	for _, s := range sh.out.Sends {
		sh.sending = append(sh.sending, register.Reservation{
			Writer: register.Writer(sh.sys.id), Seq: s.Seq, Epoch: s.Epoch,
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

// try calls f, which does something with the actor of a key, and says whether it came back.
func (sh *shard) try(key string, f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			sh.sys.metrics.panics.Inc()
			sh.sys.cfg.Logger.Error("an actor panicked", "key", key, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	sh.sys.cfg.beforeStep(key)
	f()
	return true
}

// answer gives a caller what it waits for, and those too who wait for the same answer. If the time of the first one has
// run out, those who have time left ask anew.
func (sh *shard) answer(a *actor, r owner.Reply, now int64) {
	m := r.Tag.(*mail) //nolint:forcetypeassert // this package puts nothing else there
	if m.kind == check && !m.repeats {
		if r.Err == nil {
			sh.counts.decision(m, r.Decision)
		}
		if m.id != "" {
			for _, again := range a.requests.answer(m, r.Decision, r.Err, now) {
				if errors.Is(r.Err, context.DeadlineExceeded) && again.deadline > now {
					sh.inbox.push(again)
				} else {
					again.answer(copyOf(r.Decision), r.Err)
				}
			}
		}
	}
	m.answer(r.Decision, r.Err)
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

// send hands what the actors have reserved to every replica, as one batch.
func (sh *shard) send() {
	if len(sh.sending) == 0 {
		return
	}
	batch := sh.sending
	sh.sending = make([]register.Reservation, 0, min(len(batch), maxSending))
	for i, r := range sh.sys.cfg.Replicas {
		handOver(r, batch, func(answers []register.Answer, err error) {
			sh.inbox.pushAnswers(answered{replica: i, reservations: batch, answers: answers, err: err})
		})
	}
}
