// Package together makes the checks of several keys that one request needs: all of them admit, or what was taken is given back. It
// holds nothing between two calls. Every limiter that offers [limit.AllChecker] does so with [CheckAll].
//
//	CheckAll ─▶ check 0 ─▶ check 1 ─▶ … ─▶ check n ─▶ allowed
//	               │          │
//	               └──────────┴── denied, or no decision ─▶ give back what the checks before took ─▶ denied, or the error
//
// The checks are made one after another and not at once, so that a request that is denied takes nothing of the keys behind the
// one that denied it: the bucket that most callers share stands last, and clients that are denied by a key of their own never take of
// it, however many requests they send.
package together

import (
	"context"
	"errors"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// giveBackWithin is how long the owners of the keys may take to take back what they admitted.
const giveBackWithin = time.Second

// A Limiter decides checks and takes back what it admitted.
type Limiter interface {
	limit.Checker
	limit.Returner
	limit.Settler
}

// CheckAll decides rs as [limit.AllChecker] says, with checks that it asks of to. Background runs a function in a goroutine that its
// owner waits for, or returns false if it is closed. What is given back is given back there, of all keys at once, and CheckAll waits
// for it as long as ctx lasts. Where background is nil, the caller's goroutine gives back, one key after another.
func CheckAll(ctx context.Context, to Limiter, rs []limit.Request, background func(func(context.Context)) bool) (limit.AllDecision, error) {
	plan, err := limit.PlanAll(rs)
	if err != nil {
		return limit.AllDecision{}, err
	}
	var taking limit.Taking[limit.Taken]
	defer taking.End(func(taken []limit.Taken) {
		g := giver{to: to, background: background}
		g.giveBack(ctx, taken)
	})
	decided := make([]limit.Decision, 0, len(plan.Checks))
	for i, r := range plan.Checks {
		d, err := to.Check(ctx, r)
		if err != nil {
			if part, ok := errors.AsType[*limit.UndecidedError](err); ok {
				if taken, some := limit.TakenBy(&r, &part.Decided); some {
					taking.Add(taken)
				}
			}
			return limit.AllDecision{}, plan.Wrap(i, err)
		}
		decided = append(decided, d)
		if !d.Allowed {
			return plan.Answer(decided), nil
		}
		if taken, some := limit.TakenBy(&r, &d); some {
			taking.Add(taken)
		}
	}
	taking.Keep()
	return plan.Answer(decided), nil
}

// A giver gives back what checks took.
type giver struct {
	to         Limiter
	background func(func(context.Context)) bool
}

// giveBack gives back all that was taken. It returns when that is done, or ctx has ended.
func (g *giver) giveBack(ctx context.Context, taken []limit.Taken) {
	deadline := time.Now().Add(giveBackWithin)
	ended := make(chan any, len(taken)) // a panic, or nil
	var started int
	for _, t := range taken {
		if g.background == nil {
			g.giveBackOne(ctx, ctx, deadline, t)
			continue
		}
		if g.background(func(closing context.Context) {
			defer func() { ended <- recover() }()
			g.giveBackOne(ctx, closing, deadline, t)
		}) {
			started++
		}
	}
	for range started {
		select {
		case fault := <-ended:
			if fault != nil {
				panic(fault) // where the caller's goroutine is guarded
			}
		case <-ctx.Done():
			return
		}
	}
}

// giveBackOne gives back what one check took, until the deadline. It goes on after ctx has ended, with its values. Where closing is
// another context, it ends with that one.
func (g *giver) giveBackOne(ctx, closing context.Context, deadline time.Time, t limit.Taken) {
	within, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	if closing != ctx {
		stop := context.AfterFunc(closing, cancel)
		defer stop()
	}
	// An error means that the tokens are lost until they come back by the refill. No caller could do anything about it.
	if t.Hold != nil {
		_, _ = g.to.Settle(within, limit.Settlement{Hold: *t.Hold})
		return
	}
	_, _ = g.to.Return(within, t.Key, t.Receipts)
}
