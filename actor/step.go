package actor

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// step runs one actor, where its partition is now, and passes on what comes of it. It says whether f came back; otherwise
// the actor has been forgotten, with all that it held, and everybody who waits for it, m included, has got an error:
// because the partition has gone, or because of a bug, which must neither stop the node nor leave the key stuck.
func (sh *shard) step(a *actor, now int64, m *mail, f func()) (ok bool) {
	sh.weigh(a, func() { ok = sh.weighed(a, now, m, f) })
	return ok
}

// weighed is step for an actor that is being weighed.
func (sh *shard) weighed(a *actor, now int64, m *mail, f func()) (ok bool) {
	at := sh.placeOf(a.partition)
	sh.out.Reset()
	switch {
	case a.owner.Terms == at.terms:
		ok = sh.try(a.key, f)
	case at.Placement == nil:
		sh.leave(a, m)
		return false
	default:
		ok = sh.follow(a, at, now, f)
	}
	if !ok {
		sh.crash(a, m, now)
		return false
	}
	for i := range sh.out.Sends {
		sh.reserve(a, at.Set, &sh.out.Sends[i])
	}
	for i := range sh.out.Replies {
		sh.answer(a, &sh.out.Replies[i], now)
	}
	sh.alert(a)
	return true
}

// alert sets an alarm for what is due for an actor before its next visit.
func (sh *shard) alert(a *actor) {
	if due := a.owner.Due(); due < a.visit+visitSlack {
		sh.alarms.set(a, due)
	}
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
	if r.Err != nil {
		r.Err = sh.explain(a, r.Err)
	}
	if m.kind == check && !m.repeats {
		if r.Err == nil {
			sh.counts.decision(m, &r.Decision)
		}
		if m.id != "" {
			for _, again := range a.requests.answer(m, r.Decision, r.Err, now) {
				if errors.Is(r.Err, context.DeadlineExceeded) && again.call.deadline > now {
					again.leave()
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
	if m.call.each != nil {
		m.tell(d, err)
		return
	}
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
