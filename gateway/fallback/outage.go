package fallback

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"
)

const (
	// recoveryTime is how long the cluster must decide every check until an outage is over. While only some keys have no
	// majority, checks succeed and fail alternately; that is one outage.
	recoveryTime = time.Second
	// remindEvery is how often a mistake in the configuration is logged, however many requests meet it.
	remindEvery = time.Minute
)

// An outage logs when the cluster stops deciding checks, and when it decides them again.
type outage struct {
	now func() int64 // nanoseconds since the Unix epoch
	log *slog.Logger

	down     atomic.Bool
	began    atomic.Int64  // nanoseconds since the Unix epoch
	latest   atomic.Int64  // when the last check was not decided
	checks   atomic.Uint64 // undecided in this outage
	reminded atomic.Int64  // when a mistake was last logged; 0: never
	cause    atomic.Pointer[cause]
}

// A cause is the first error of an outage: its text names the addresses that could not be reached, and why.
type cause struct {
	reason reason
	text   string
}

// undecided notes a check that the cluster did not decide.
func (o *outage) undecided(why reason, err error) {
	now := o.now()
	if why.isMistake() {
		last := o.reminded.Load()
		if (last == 0 || now-last >= int64(remindEvery)) && o.reminded.CompareAndSwap(last, now) {
			o.log.Error("the cluster cannot decide checks: the configuration is wrong", "reason", string(why), "error", err)
		}
		return
	}
	o.latest.Store(now)
	o.checks.Add(1)
	if !o.down.Load() && o.down.CompareAndSwap(false, true) {
		began := &cause{why, err.Error()}
		o.began.Store(now)
		o.cause.Store(began)
		o.log.Warn("the cluster does not decide checks: on_unavailable applies", "reason", string(why), "error", began.text)
	}
}

// decided notes a check that the cluster decided.
func (o *outage) decided() {
	if !o.down.Load() {
		return
	}
	now := o.now()
	if now-o.latest.Load() < int64(recoveryTime) || !o.down.CompareAndSwap(true, false) {
		return
	}
	checks := o.checks.Swap(0)
	lasted := time.Duration(o.latest.Load() - o.began.Load())
	args := []any{"outage", max(lasted, 0), "undecided_checks", min(checks, math.MaxInt64)}
	if began := o.cause.Load(); began != nil { // undecided sets down before cause
		args = append(args, "reason", string(began.reason), "error", began.text)
	}
	o.log.Info("the cluster decides checks again", args...)
}

// gauge is 1 during an outage, else 0.
func (o *outage) gauge() float64 {
	if o.down.Load() {
		return 1
	}
	return 0
}
