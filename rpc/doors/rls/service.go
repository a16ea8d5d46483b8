package rls

import (
	"context"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// ownTime is how long a call may take whose caller does not say.
const ownTime = time.Second

// ShouldRateLimit answers one request of Envoy:
//
//	planOf       the rule of each descriptor, and what is to be asked
//	plan.decide  asks the Limiter
//	answer       a status for each descriptor
func (s service) ShouldRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	d := s.door
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ownTime)
		defer cancel()
	}
	now := d.state.Load()
	if now == nil {
		d.metrics.failed.Inc()
		return nil, d.none()
	}
	p, err := d.planOf(now, r)
	if err != nil {
		d.metrics.invalid.Inc()
		return nil, err
	}
	if err := p.decide(ctx, d); err != nil {
		d.metrics.failed.Inc()
		return nil, wireError(err)
	}
	d.count(p)
	return d.answer(p), nil
}
