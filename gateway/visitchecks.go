package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/fallback"
)

// askWait is how long a check may wait: not at all while too many requests are held. Then it is denied as one that does not wait.
func (v *visit) askWait(c *check) time.Duration {
	if c.wait > 0 && !v.waits {
		v.waits = v.gateway.inFlight.hold(v.rules.maxInFlight)
	}
	if !v.waits {
		return 0
	}
	return c.wait
}

// endWait ends what askWait has begun.
func (v *visit) endWait() {
	if v.waits {
		v.gateway.inFlight.held.Add(-1)
		v.waits = false
	}
}

// hold waits until the tokens are there that the checks have taken, and reports whether the client has waited too. The request is under
// way meanwhile, and so counts among the concurrent ones, which are bounded.
func (v *visit) hold(ctx context.Context) bool {
	if v.begin.IsZero() {
		return true
	}
	m := v.gateway.metrics
	m.holding.Inc()
	since := time.Now()
	timer := time.NewTimer(time.Until(v.begin))
	defer func() {
		timer.Stop()
		v.held = time.Since(since)
		m.holding.Dec()
		m.held.Observe(v.held.Seconds())
	}()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// returnable reports whether what the request takes may have to be returned after it has passed. Only then is the cluster asked
// for receipts: it remembers each for minutes, and keeps its key in memory. A request to an upstream with an open connection
// counts as sent: when the upstream dies, its connections end.
func (v *visit) returnable() bool {
	switch v.feedback {
	case deliveryFeedback:
		return v.route.upstream != nil && (v.route.charging.byAnswer() || !v.route.upstream.connected())
	case statusFeedback:
		return v.route.charging.byAnswer()
	default:
		return false
	}
}

// take notes what a check of a cluster has taken, if it may have to be returned.
func (v *visit) take(r *limit.Request, d *limit.Decision, of *cluster) {
	if t, some := limit.TakenBy(r, d); some {
		v.taking.Add(taken{t, of})
	}
}

// apply adds the verdict of one check to the result.
func (v *visit) apply(ctx context.Context, d *fallback.Verdict, c *check, r *limit.Request, l *limits) {
	v.source, v.failure, v.node, v.asked, v.mayWait = d.Source, d.Err, d.Node, l.shown, d.MayWait
	v.since, v.repeats = d.Since, d.Repeated
	if part, ok := errors.AsType[*limit.UndecidedError](d.Err); ok {
		v.asked = l.named(part.Limits)
	}
	doc := l.cluster.Limits()
	v.earlier = len(v.quotas)
	for i, o := range d.Limits {
		q := answer.Quota{Outcome: o, Counts: c.counts.name}
		if doc != nil && d.Source.Decided() { // a local bucket has only a part of the limit
			q.Rule = doc.DecidedBy(&o, r.Key)
		}
		q.Name = l.shown[i]
		v.quotas, v.quotaKeys = append(v.quotas, q), append(v.quotaKeys, v.key)
	}
	l.count(d)
	switch {
	case d.Source == fallback.ByAllow:
		v.outcome = failOpen
		v.open.add(v.asked, v.key, d.Err)
		countEach(v.gateway.metrics.opened, v.asked)
	case d.Source == fallback.ByDeny && errors.Is(d.Err, context.Canceled):
		v.cutOff(ctx)
	case d.Source == fallback.ByDeny:
		countEach(v.gateway.metrics.closed, v.asked)
		v.refuse(unavailable, "rate limiter unavailable; retry later")
	case !d.Allowed:
		what := "too many requests"
		if c.counts.denial == answer.OverBudget {
			what = "budget exceeded"
		}
		v.refuse(denied, exceeded(what, l, d.Decision))
		v.refusal.Kind, v.refusal.Quotas = c.counts.denial, v.quotas
	default:
		if v.outcome != failOpen {
			v.outcome = admitted
		}
		if c.counts.ofModels {
			v.llm.take(c, l, r, &d.Decision, shownKey(v.key))
		} else {
			v.take(r, &d.Decision, l.cluster)
		}
		if begin := time.Now().Add(d.Wait); d.Wait > 0 && begin.After(v.begin) {
			v.begin = begin
		}
	}
}

// exceeded describes a denial for people: what was exceeded, which limit denied, and when the request passes. What is left is in the headers.
func exceeded(what string, l *limits, d limit.Decision) string {
	d.Limits = slices.Clone(d.Limits)
	for i := range d.Limits {
		d.Limits[i].Name = l.shown[i]
	}
	o := d.Denying()
	switch {
	case o == nil:
		return what
	case o.Closed:
		return what + ": the limit " + o.Name + " is closed after denials in a row; " + o.Passes()
	case o.Never:
		return "this request asks too much of the limit " + o.Name + ": " + o.Passes()
	}
	return what + ": the limit " + o.Name + " is exhausted; " + o.Passes()
}
