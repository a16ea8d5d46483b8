package kuadrant

import (
	"context"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// hold takes the amount of all limits for a time, or of none. An amount that a limit can never have is over it.
func (d *Door) hold(ctx context.Context, matches []limitfile.Match, amount uint64, last time.Duration) ([]limit.Hold, ratelimitv3.RateLimitResponse_Code, error) {
	requests, none, err := requestsOf(matches, limit.MaxAll)
	if err != nil {
		return nil, unknown, err
	}
	if none == nil {
		none = smallerThan(matches, amount)
	}
	if none != nil {
		d.metrics.limit(none)
		return nil, overLimit, nil
	}
	for i := range requests {
		requests[i].Cost, requests[i].Hold = clamp(amount), last
	}
	all, err := d.all(ctx, requests)
	if err != nil {
		return nil, unknown, err
	}
	if !all.Allowed {
		d.denied(matches, all.Decisions)
		return nil, overLimit, nil
	}
	var holds []limit.Hold
	for i := range all.Decisions {
		if h := all.Decisions[i].Hold; h != nil {
			holds = append(holds, *h)
		}
	}
	return holds, ok, nil
}

// denied counts the first limit that denied.
func (d *Door) denied(matches []limitfile.Match, decisions []limit.Decision) {
	for i := range decisions {
		for j, o := range decisions[i].Limits {
			if !o.Allowed && j < len(matches[i].Limits) {
				d.metrics.limit(matches[i].Limits[j])
				return
			}
		}
	}
}

// all asks requests, all of which admit, or none is charged.
func (d *Door) all(ctx context.Context, requests []limit.Request) (limit.AllDecision, error) {
	switch len(requests) {
	case 0:
		return limit.AllDecision{Allowed: true}, nil
	case 1:
		decision, err := d.cfg.Limiter.Check(ctx, requests[0])
		return limit.AllDecision{Allowed: decision.Allowed, Decisions: []limit.Decision{decision}}, err
	}
	return d.cfg.Limiter.CheckAll(ctx, requests)
}

// smallerThan is a limit that never has the amount; nil if all may have it.
func smallerThan(matches []limitfile.Match, amount uint64) *limitfile.Limit {
	for _, m := range matches {
		for _, l := range m.Limits {
			if amount > uint64(l.MaxValue) {
				return l
			}
		}
	}
	return nil
}
