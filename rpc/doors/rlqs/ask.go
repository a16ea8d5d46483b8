package rlqs

import (
	"context"
	"errors"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errEarly is for the lease of a node that does not know LeaseAsk.After.
var errEarly = errors.New("a node gave line that begins too soon: it runs an older version, upgrade it")

// line asks for the line of an assignment.
func (d *Door) line(ctx context.Context, a ask, envoy string) answer {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.at+handOver-d.now()))
	defer cancel()
	r := limit.Request{Key: a.of.key, Limits: []limit.Ref{limit.Named(a.of.limit)}, Cost: a.tokens, Least: 1}
	r.Lease = &limit.LeaseAsk{
		Life: time.Duration(a.terms.life), After: time.Duration(a.terms.life + slack), Now: time.Now().UnixNano(), Terms: a.terms.rule.LeaseTerms(), Edge: envoy, ID: a.of.tag,
	}
	got, err := d.cfg.Limiter.Check(ctx, r)
	out := answer{ask: a, lease: got.Lease, err: err}
	if err == nil && got.Lease == nil && len(got.Limits) == 1 {
		out.retry = int64(got.Limits[0].RetryAfter)
	}
	if l := got.Lease; l != nil && !liesBehind(a.terms.rule, l, a.terms.life+slack) {
		d.giveBack(ctx, a.of.key, l)
		out.lease, out.err = nil, errEarly
	}
	switch {
	case out.err != nil:
		d.counts.asks.WithLabelValues(failed).Inc()
		d.log.failed(a.of.target, out.err)
	case out.lease == nil:
		d.counts.asks.WithLabelValues(nothing).Inc()
	default:
		d.counts.asks.WithLabelValues(given).Inc()
	}
	return out
}

// liesBehind says whether the line of a lease lies ahead of all that is spent until after has passed, and not too far.
func liesBehind(rule *limit.Rule, l *limit.Lease, after int64) bool {
	return l.Start >= rule.Begin(l.Now+after) && !limit.At(l.End).After(rule.Bound(l.Now))
}

// giveBack gives back line that Envoy was not told of.
func (d *Door) giveBack(ctx context.Context, key string, l *limit.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(handOver))
	defer cancel()
	_, _ = d.cfg.Limiter.Return(ctx, key, []limit.Receipt{l.Receipt}) // otherwise time brings it back
}
