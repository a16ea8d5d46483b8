package rpc

import (
	"context"
	"time"
)

// How long a call may take.
const (
	defaultTime = 5 * time.Second  // if its caller does not say
	maxTime     = 30 * time.Second // whatever its caller says
)

// timed gives ctx the deadline of a call. The one that its caller gave it is kept: a second one, with a timer of its
// own, is only made where it would be the nearer.
func timed(ctx context.Context) (context.Context, context.CancelFunc) {
	return timedAtMost(ctx, maxTime)
}

// timedAtMost is timed for a call that may take that long, if its caller says so.
func timedAtMost(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	at, ok := ctx.Deadline()
	switch {
	case !ok:
		return context.WithTimeout(ctx, defaultTime)
	case time.Until(at) > within:
		return context.WithTimeout(ctx, within)
	default:
		return ctx, func() {}
	}
}
