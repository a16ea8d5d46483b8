package kuadrant

import (
	"context"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// look says whether each limit has one left. It takes nothing.
func (d *Door) look(ctx context.Context, matches []limitfile.Match) (ratelimitv3.RateLimitResponse_Code, error) {
	requests, none, err := requestsOf(matches, limit.MaxBatch)
	switch {
	case err != nil:
		return unknown, err
	case none != nil:
		d.metrics.limit(none)
		return overLimit, nil
	}
	for i := range requests {
		requests[i].Look = true
	}
	for i, r := range d.checks(ctx, requests) {
		if r.Err != nil {
			return unknown, r.Err
		}
		for j, o := range r.Decision.Limits {
			if o.Remaining < 1 {
				d.metrics.limit(matches[i].Limits[j])
				return overLimit, nil
			}
		}
	}
	return ok, nil
}

// requestsOf is a request for the limits of each match, which are decided at one moment. None is a limit that admits nothing, if there is one.
func requestsOf(matches []limitfile.Match, most int) (requests []limit.Request, none *limitfile.Limit, err error) {
	if len(matches) > most {
		return nil, nil, tooMany(len(matches), most)
	}
	requests = make([]limit.Request, len(matches))
	for i, m := range matches {
		refs := make([]limit.Ref, len(m.Limits))
		for j, l := range m.Limits {
			if l.MaxValue == 0 {
				return nil, l, nil
			}
			refs[j] = l.Ref
		}
		requests[i] = limit.Request{Key: m.Key, Limits: refs}
	}
	return requests, nil, nil
}

// checks asks requests, each by itself.
func (d *Door) checks(ctx context.Context, requests []limit.Request) []limit.Result {
	switch len(requests) {
	case 0:
		return nil
	case 1:
		decision, err := d.cfg.Limiter.Check(ctx, requests[0])
		return []limit.Result{{Decision: decision, Err: err}}
	}
	return d.cfg.Limiter.CheckBatch(ctx, requests)
}
