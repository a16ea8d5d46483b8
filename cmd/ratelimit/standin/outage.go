package standin

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// sayOutage is how often the log says that calls fail, at most.
const sayOutage = time.Minute

// An outage is a Limiter that logs when its calls fail, once a minute while they do, and when they are answered again. These are warnings, since less is not logged where LOG_LEVEL is not
// set.
type outage struct {
	limit.Limiter

	log    *slog.Logger
	logged atomic.Bool // that calls fail, and not yet that they are answered again

	mu     sync.Mutex
	said   time.Time // when the log was told last that calls fail
	failed int       // calls since then
}

// Check implements [limit.Limiter].
func (o *outage) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	d, err := o.Limiter.Check(ctx, r)
	o.saw(err)
	return d, err
}

// CheckBatch implements [limit.Limiter].
func (o *outage) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := o.Limiter.CheckBatch(ctx, rs)
	var failed error
	for _, r := range results {
		if failed = r.Err; failed != nil {
			break
		}
	}
	o.saw(failed)
	return results
}

// CheckAll implements [limit.Limiter].
func (o *outage) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	d, err := o.Limiter.CheckAll(ctx, rs)
	o.saw(err)
	return d, err
}

// saw notes how a call has ended. That its caller is gone, or that the request is wrong, says nothing of the buckets.
func (o *outage) saw(err error) {
	if _, wrong := errors.AsType[*limit.FieldError](err); wrong || errors.Is(err, context.Canceled) {
		return
	}
	if err == nil {
		if o.logged.CompareAndSwap(true, false) {
			o.log.Warn("the buckets answer again")
		}
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed++
	now := time.Now()
	if !o.said.IsZero() && now.Sub(o.said) < sayOutage {
		return
	}
	o.log.Error("the buckets do not answer, so calls fail, and failure_mode_deny of Envoy decides", "calls", o.failed, "error", err)
	o.said, o.failed = now, 0
	o.logged.Store(true)
}
