package fallback

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// calm is how long the cluster must have decided everything until an outage counts as over. Where only some keys
	// cannot be decided, checks succeed and fail by turns; that is one outage.
	calm = time.Second
	// remindEvery is how often a mistake in a configuration is logged, however many requests make it.
	remindEvery = time.Minute
)

// An outage is what the log has been told of how the cluster does.
type outage struct {
	down     atomic.Bool
	began    atomic.Int64  // nanoseconds since the Unix epoch
	latest   atomic.Int64  // when a check was not decided
	checks   atomic.Uint64 // that were not decided in it
	reminded atomic.Int64  // when a mistake was logged; 0: never
	cause    atomic.Pointer[cause]
}

// A cause is what began an outage: the error names the addresses that could not be reached, and why.
type cause struct {
	reason reason
	said   string
}

// undecided notes a check that the cluster did not decide.
func (o *outage) undecided(g *Guard, why reason, err error) {
	now := g.now()
	if why.mistake() {
		last := o.reminded.Load()
		if (last == 0 || now-last >= int64(remindEvery)) && o.reminded.CompareAndSwap(last, now) {
			g.log.Error("the cluster cannot decide checks: the configuration is wrong", "reason", string(why), "error", err)
		}
		return
	}
	o.latest.Store(now)
	o.checks.Add(1)
	if !o.down.Load() && o.down.CompareAndSwap(false, true) {
		began := &cause{why, err.Error()}
		o.began.Store(now)
		o.cause.Store(began)
		g.log.Warn("the cluster does not decide checks: on_unavailable applies", "reason", string(why), "error", began.said)
	}
}

// decided notes a check that the cluster decided.
func (o *outage) decided(g *Guard) {
	if !o.down.Load() {
		return
	}
	now := g.now()
	if now-o.latest.Load() < int64(calm) || !o.down.CompareAndSwap(true, false) {
		return
	}
	checks := o.checks.Swap(0)
	lasted := time.Duration(o.latest.Load() - o.began.Load())
	args := []any{"outage", max(lasted, 0), "undecided_checks", min(checks, math.MaxInt64)}
	if began := o.cause.Load(); began != nil { // it may not be noted yet, just after the beginning
		args = append(args, "reason", string(began.reason), "error", began.said)
	}
	g.log.Info("the cluster decides checks again", args...)
}

// gauge is 1 in an outage.
func (o *outage) gauge() float64 {
	if o.down.Load() {
		return 1
	}
	return 0
}
