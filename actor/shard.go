package actor

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

const (
	// maxSending is after how many reservations a shard sends, and hears what has been answered, without finishing its
	// round: what it has in hand is to stay in the processor's caches.
	maxSending = 128
	// lookAhead is how many mails have their actors looked up at once: first in the map, then in memory, so that they wait
	// for memory together and not one after another.
	lookAhead = 32
	// visitSlack is how late a visit may be, so that the shard's goroutine makes many at a time, in nanoseconds.
	visitSlack = int64(20e6)
	// maxVisits is how many visits are made before checks get their turn.
	maxVisits = 4096
)

// A shard runs many actors, one at a time, in rounds: a round takes what has arrived and does it. A caller who finds the
// shard at rest runs the round of his own mail himself, which spares him two changes of goroutine; all else is done by
// the shard's goroutine.
type shard struct {
	sys   *System
	inbox inbox

	awakeNow atomic.Int64 // how many actors there are, for others to read

	// Whoever runs a round holds mu, which guards everything below.
	mu      sync.Mutex
	actors  actors
	visits  visits
	alarms  alarms
	timer   int64 // when the shard's goroutine will wake by itself, or earlier
	out     owner.Out
	mail    []*mail // of this round
	sending *sending
	spare   []*sending // to be used again
	heard   []answered // scratch
	warmth  int        // means nothing: see warm
	counts  counts
	replied replied
}

func newShard(s *System) *shard {
	sh := &shard{sys: s, timer: math.MaxInt64, actors: newActors(), counts: newCounts(s.metrics)}
	sh.sending = sh.newSending()
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
	for closed := false; !closed; {
		fired := false
		select {
		case <-sh.inbox.wake:
		case <-timer.C:
			fired = true
		}
		if !sh.mu.TryLock() { // whoever runs a round will say if there is more to do
			if fired {
				timer.Reset(time.Millisecond)
			}
			continue
		}
		if fired {
			sh.timer = math.MaxInt64
		}
		closed = sh.round()
		sh.look(sh.sys.cfg.Now())
		if at := sh.next(); at < sh.timer {
			sh.timer = at
			timer.Reset(time.Duration(max(at-sh.sys.cfg.Now(), 0)))
		}
		sh.mu.Unlock()
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for a := range sh.actors.all() {
		sh.forget(a, errStopping)
	}
	sh.awakeNow.Store(0)
}

// push hands in mail and sees to it that it is looked at.
func (sh *shard) push(ms ...*mail) {
	if sh.inbox.push(ms...) {
		sh.attend()
	}
}

// attend has what has arrived looked at: by the caller if the shard is at rest. What arrives during his round is not for
// him to do.
func (sh *shard) attend() {
	if !sh.mu.TryLock() {
		sh.inbox.notify()
		return
	}
	if early := sh.attended(); early || sh.inbox.waits() {
		sh.inbox.notify()
	}
}

// attended runs a caller's round, with mu held, and gives mu up. It says whether something is due before the shard's
// goroutine will wake. A panic ends the process, as it does on that goroutine: the caller might recover from it, and the
// shard would be stuck.
func (sh *shard) attended() (early bool) {
	defer func() {
		if p := recover(); p != nil {
			go panic(p)
			select {}
		}
		sh.mu.Unlock()
	}()
	sh.round()
	return sh.next() < sh.timer
}

// round does what has arrived, and says whether the inbox is closed.
func (sh *shard) round() (closed bool) {
	sh.mail, closed = sh.inbox.take(sh.mail)
	// Read after what has arrived was taken: a check's time lies within its call.
	now := sh.sys.cfg.Now()
	sh.hearAll(now)
	sh.deliverAll(sh.mail, now)
	sh.finish(now)
	return closed
}

// look does what is due, but of visits only so many: the timer brings it back.
func (sh *shard) look(now int64) {
	for a := sh.alarms.next(); a != nil && a.at <= now; a = sh.alarms.next() {
		sh.ring(a.actor, now)
	}
	n := 0
	for a := sh.visits.next(); a != nil && n < maxVisits && (a.gone || a.visit <= now); a = sh.visits.next() {
		sh.call(a, now)
		n++
	}
	sh.finish(now)
}

// finish passes on what a round has come to.
func (sh *shard) finish(now int64) {
	for sh.send() { // a replica may answer at once
		sh.hearAll(now)
	}
	sh.replied.flush()
	sh.counts.flush()
	sh.awakeNow.Store(int64(sh.actors.len()))
}

// next is when the shard has something to do, if nothing arrives before.
func (sh *shard) next() int64 {
	at := int64(math.MaxInt64)
	if a := sh.alarms.next(); a != nil {
		at = a.at
	}
	if a := sh.visits.next(); a != nil {
		at = min(at, a.visit+visitSlack)
	}
	return at
}

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
		if len(sh.sending.reservations) >= maxSending {
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

// deliver brings one mail to its actor, waking it if need be.
func (sh *shard) deliver(m *mail, a *actor, now int64) {
	if m.kind == look {
		if !sh.try(m.key, func() { m.others.looked(sh, a) }) {
			m.fail(ErrInternal)
			return
		}
		m.call.answered(1)
		return
	}
	if m.call.deadline <= now {
		m.fail(context.DeadlineExceeded)
		return
	}
	if a == nil {
		if m.kind == giveBack {
			m.others.returned = make([]bool, len(m.others.receipts))
			m.call.answered(1)
			return
		}
		a = sh.awake(m, now)
	}
	a.last = now
	if m.kind == giveBack {
		if sh.step(a, now, m, func() { m.others.giveBack(a, now) }) {
			m.call.answered(1)
		}
		return
	}
	sh.step(a, now, m, func() {
		if m.kind == check {
			sh.check(a, m, now)
		} else if !sh.full(a, m) {
			a.owner.Reset(m, m.rules[0], now, m.call.deadline, &sh.out)
		}
	})
}

// giveBack returns what the receipts prove to the key's actor.
func (o *others) giveBack(a *actor, now int64) {
	o.returned = make([]bool, len(o.receipts))
	for i, r := range o.receipts {
		o.returned[i] = a.owner.Return(r, now)
	}
}

// hearAll takes in what replicas have answered.
func (sh *shard) hearAll(now int64) {
	sh.heard = sh.inbox.takeAnswers(sh.heard)
	for i := range sh.heard {
		sh.hear(&sh.heard[i], now)
	}
}

// hear takes in what one replica has answered to one message.
func (sh *shard) hear(batch *answered, now int64) {
	for i, a := range batch.sent.actors {
		if i%lookAhead == 0 {
			sh.warm(batch.sent.actors[i:min(i+lookAhead, len(batch.sent.actors))])
		}
		if a.gone {
			continue
		}
		r := &batch.sent.reservations[i]
		answer := owner.Answer{Replica: batch.replica, Limit: r.Limit, Seq: r.Seq, Verdict: owner.Lost}
		if batch.err == nil {
			said := &batch.answers[i]
			answer.Verdict, answer.Position, answer.Generation = verdict(said.Verdict), said.Position, said.Generation
			sh.counts.answer(said.Verdict)
		}
		sh.step(a, now, nil, func() { a.owner.Answer(answer, now, &sh.out) })
	}
	sh.reuse(batch)
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

// ring does what has become due for an actor.
func (sh *shard) ring(a *actor, now int64) {
	sh.alarms.remove(a)
	sh.step(a, now, nil, func() { a.owner.Wake(now, &sh.out) })
}

// call visits an actor: it may be time to forget it, or to set an alarm for what is due before the next visit.
func (sh *shard) call(a *actor, now int64) {
	sh.visits.pop()
	if a.gone {
		return
	}
	a.visit = now + int64(sh.sys.cfg.IdleAfter)
	sh.visits.add(a)
	ok := sh.step(a, now, nil, func() {
		if a.owner.Due() <= now {
			a.owner.Wake(now, &sh.out)
		}
	})
	if !ok {
		return
	}
	quiet := a.last + int64(sh.sys.cfg.IdleAfter)
	if a.requests != nil {
		a.requests.prune(now)
		quiet = max(quiet, a.requests.until())
	}
	if idle, _ := a.owner.Idle(now); idle && now >= quiet {
		sh.forget(a, nil)
	}
}

// step runs one actor and passes on what comes of it. If it panics, the actor is forgotten with all that it held, and
// everybody who waits for it, m included, gets an error: a bug must neither stop the node nor leave the key stuck.
func (sh *shard) step(a *actor, now int64, m *mail, f func()) (ok bool) {
	sh.out.Reset()
	if !sh.try(a.key, f) {
		sh.crash(a, m, now)
		return false
	}
	for i := range sh.out.Sends {
		sh.sending.add(a, register.Writer(sh.sys.id), &sh.out.Sends[i])
		sh.counts.sent(sh.out.Sends[i].Background)
	}
	for i := range sh.out.Replies {
		sh.answer(a, &sh.out.Replies[i], now)
	}
	if due := a.owner.Due(); due < a.visit+visitSlack {
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
func (sh *shard) answer(a *actor, r *owner.Reply, now int64) {
	m := r.Tag.(*mail) //nolint:forcetypeassert // this package puts nothing else there
	if m.kind == check && !m.repeats {
		if r.Err == nil {
			sh.counts.decision(m, &r.Decision)
		}
		if m.id != "" {
			for _, again := range a.requests.answer(m, r.Decision, r.Err, now) {
				if errors.Is(r.Err, context.DeadlineExceeded) && again.call.deadline > now {
					sh.inbox.push(again)
					sh.inbox.notify()
				} else {
					sh.replied.answer(again, copyOf(r.Decision), r.Err)
				}
			}
		}
	}
	sh.replied.answer(m, r.Decision, r.Err)
}

// replied are mails of one call that are answered. They are counted together, because the count is what shards share.
type replied struct {
	call *call
	n    int64
}

// answer gives m's caller what it waits for, at the latest when the shard has finished its round. The mail must not be
// touched afterwards.
func (r *replied) answer(m *mail, d limit.Decision, err error) {
	m.put(d, err)
	if r.call != m.call {
		r.flush()
		r.call = m.call
	}
	r.n++
}

func (r *replied) flush() {
	if r.call != nil {
		r.call.answered(r.n)
	}
	*r = replied{}
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
