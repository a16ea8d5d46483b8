package actor

import (
	"context"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An each is a call whose caller does not wait: he is told every answer by itself, by the shard that has it, or that his
// context has ended. Whoever gives the last answer frees the call; not when the context has ended, for then somebody may
// still be going through its mail.
type each struct {
	sys   *System
	start time.Time
	done  func(place int, r limit.Result)
	stop  func() bool // no longer heeds the context; nil if nobody does
}

// CheckEach decides every request by itself, and waits for none; see [limit.EachChecker].
func (s *System) CheckEach(ctx context.Context, rs []limit.Request, done func(place int, r limit.Result)) {
	if len(rs) == 0 {
		return
	}
	if err := refused(ctx, rs); err != nil {
		for i, r := range failed(rs, err) {
			done(i, r)
		}
		return
	}
	c, e := s.newCall(ctx, len(rs), nil), &each{sys: s, start: time.Now(), done: done}
	c.each = e
	c.open.Add(1) // until all that the call needs is in place
	s.hand(c, rs)
	if c.open.Load() > 1 {
		e.stop = context.AfterFunc(ctx, func() { e.giveUp(c, ctx.Err()) })
	}
	c.answered(1)
}

// tell answers m, unless its context has ended before. The mail must not be touched afterwards: it may be another call's
// already, so that with its last answer a caller may end the context, and nobody has to go through its mail.
func (m *mail) tell(d limit.Decision, err error) {
	m.leave()
	e, place, late := m.call.each, int(m.place), m.told.Swap(true)
	m.call.answered(1)
	if !late {
		e.sys.metrics.latency.Observe(time.Since(e.start).Seconds())
		e.done(place, limit.Result{Decision: d, Err: err})
	}
}

// giveUp answers all that has no answer. The mail stays with the shards.
func (e *each) giveUp(c *call, err error) {
	for i := range c.mail {
		if !c.mail[i].told.Swap(true) {
			e.done(i, limit.Result{Err: err})
		}
	}
}

// over is called when the shards have done with all mail of c.
func (e *each) over(c *call) {
	if e.stop == nil || e.stop() {
		e.sys.free(c)
	}
}
