package actor

import (
	"context"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/exemplar"
)

var _ limit.EachLimiter = (*System)(nil)

// Each decides every request and takes in every settlement by itself, and waits for none; see [limit.EachLimiter].
func (s *System) Each(
	ctx context.Context, rs []limit.Request, checked func(place int, r limit.Result),
	ss []limit.Settlement, settled func(place int, settled limit.Settled, err error),
) {
	n := len(rs) + len(ss)
	if n == 0 {
		return
	}
	all := make([]settling, len(ss))
	done := func(place int, r limit.Result) {
		if place < len(rs) {
			checked(place, r)
			return
		}
		answer, err := all[place-len(rs)].answer(&ss[place-len(rs)], r.Err)
		settled(place-len(rs), answer, err)
	}
	if err := refused(ctx, n); err != nil {
		for i := range n {
			done(i, limit.Result{Err: err})
		}
		return
	}
	c, e := s.newBundle(ctx, n, nil), &callback{pool: &s.bundles, start: time.Now(), exemplar: exemplar.Of(ctx), done: done}
	c.callback = e
	c.open.Add(1) // until all that the bundle needs is in place
	s.sortChecks(c, rs)
	s.sortSettlements(c, len(rs), ss, all)
	s.handOver(c)
	if c.open.Load() > 1 {
		e.stop = context.AfterFunc(ctx, func() { e.giveUp(c, ctx.Err()) })
	}
	c.answered(1)
}
