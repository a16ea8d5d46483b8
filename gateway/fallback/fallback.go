// Package fallback stands between a gateway and the cluster: it gives every check a budget of time, and when nobody
// decides within it, it decides what happens then, by the policy that the limits or the check name: allow, deny, or a
// bucket of the gateway's own.
//
// It promises that an outage of the cluster costs a request no more than the budget, that the clients of n gateways
// which decide locally are together granted no more than their limits say (see [Guard.Check] for what rounding does to
// very small ones), and that nothing which it keeps for that grows without bound.
//
// Start with [Guard].
package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

// defaultWithin is the budget when nothing is said.
const defaultWithin = 50 * time.Millisecond

// Config says who decides, and how long that may take.
type Config struct {
	// Checker decides; required. If it is a [limit.Returner] as well, receipts can be given back. It must heed the end of
	// its context, Done or Deadline: a check lasts as long as it does.
	Checker limit.Checker
	// Limits are the stored limits in force, the same pointer as long as they do not change; nil while they are not
	// known. Required.
	Limits func() *limit.Document
	// Gateways is how many gateways share the limits that are decided locally. 0 means 1.
	Gateways int
	// Before is the Guard whose place this one takes: limits that it remembers are remembered. Nil means none.
	Before *Guard
	// Within is how long a check may take. 0 means 50 ms.
	Within time.Duration
	// Now is the time in nanoseconds since the Unix epoch, by which local buckets refill; one that goes back stands
	// still. Nil means the time when the Guard was made and what has passed since.
	Now func() int64
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger is told when the cluster stops deciding and when it decides again. Nil means nobody is.
	Logger *slog.Logger
}

// Source says who decided, or what stood in for a decision.
type Source string

// The sources.
const (
	ByCluster Source = "cluster" // a decision
	ByLocal   Source = "local"   // a bucket of the gateway's own
	ByAllow   Source = "allow"   // let through undecided
	ByDeny    Source = "deny"    // refused undecided
)

// A Verdict is what happens with a check.
type Verdict struct {
	// Decision is the cluster's, or what stands in for it. By ByAllow and ByDeny it has no outcomes: nothing is known. By
	// ByLocal its outcomes are those of the gateway's part of each limit. Only the cluster's can have receipts.
	limit.Decision
	Source Source
	// Err is why the cluster did not decide; nil by ByCluster.
	Err error
}

// A Guard checks within a budget, and has a verdict in any case. It is safe for concurrent use.
type Guard struct {
	checker limit.Checker
	limits  func() *limit.Document
	within  time.Duration
	now     func() int64
	log     *slog.Logger
	metrics metrics
	parts   divider
	local   *buckets
	outage  outage
	returns *returns
	closing sync.Once
}

// New makes a Guard. The error says what is wrong in cfg.
func New(cfg Config) (*Guard, error) {
	switch {
	case cfg.Checker == nil:
		return nil, errors.New("fallback: no checker: give one that decides, such as a client of the cluster")
	case cfg.Limits == nil:
		return nil, errors.New("fallback: no limits: give a function that returns the stored limits in force, or nil")
	case cfg.Gateways < 0 || cfg.Within < 0:
		return nil, fmt.Errorf("fallback: negative numbers: %d gateways, within %v", cfg.Gateways, cfg.Within)
	}
	g := &Guard{
		checker: cfg.Checker, limits: cfg.Limits, within: cfg.Within, now: cfg.Now, log: cfg.Logger,
		parts: divider{gateways: max(cfg.Gateways, 1)},
	}
	if g.within == 0 {
		g.within = defaultWithin
	}
	if g.now == nil {
		g.now = steady()
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Before != nil {
		g.parts.inherit(&cfg.Before.parts)
	}
	g.local = newBuckets(g.now)
	g.metrics = newMetrics(g.local, &g.outage)
	if err := g.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	giver, _ := cfg.Checker.(limit.Returner)
	g.returns = newReturns(giver, g.metrics.returns)
	return g, nil
}

// steady is a clock that starts with the time of day and then follows no correction of it.
func steady() func() int64 {
	start := time.Now()
	at := start.UnixNano()
	return func() int64 { return at + int64(time.Since(start)) }
}

// Check has r decided within the budget, or as much of it as ctx leaves, and has a verdict when that fails:
//
//	Checker ─▶ decided: ByCluster
//	   └─ error ─▶ policy ─▶ allow: ByAllow, deny: ByDeny, local: ByLocal
//
// The policy is the one given; if that is empty, it is what each limit says in its on_unavailable, and of several the
// strictest: deny before local before allow. A limit that is gone from the stored ones counts as it was when it was last
// there, for the thousand of them that are remembered. One that was never known, because the limits were never heard or
// because it was not among them, is taken for one that says deny, and cannot be decided locally under any policy. So a
// mistake in a configuration (limit.ErrUnknownLimit, a *limit.FieldError) is handled like an outage, and is counted and logged.
//
// Local buckets have the limit's capacity divided by the number of gateways, rounded down, and its refill divided
// exactly. A capacity smaller than the number of gateways would leave nothing: such buckets hold one token, so that all
// gateways together may grant a burst of one token each, while the refill stays exact. A limit so slow that its part
// would take more than 73 years to fill, or whose refill has numbers so great that its part cannot be written, is not
// decided locally but denied. Several limits all admit, or none is
// charged. A bucket starts full, since the gateway does not know what the cluster has granted before. At most 100,000
// buckets are kept; when all are in use, checks that would need further ones are denied.
//
// When ctx itself has ended nobody waits for a verdict: it is ByDeny, and no policy is asked.
func (g *Guard) Check(ctx context.Context, r limit.Request, policy limit.Policy) Verdict {
	return g.CheckBy(ctx, r, policy, g.Deadline())
}

// Deadline is when the budget of a request that comes now is used up.
func (g *Guard) Deadline() time.Time { return time.Now().Add(g.within) }

// CheckBy is Check for a request with several checks, which share the budget of one: deadline is what [Guard.Deadline] was
// when the request came.
func (g *Guard) CheckBy(ctx context.Context, r limit.Request, policy limit.Policy, deadline time.Time) Verdict {
	b := budget{parent: ctx, deadline: deadline}
	d, err := g.checker.Check(&b, r)
	b.end()
	if err == nil {
		g.Note()
		g.metrics.checks[ByCluster].Inc()
		g.outage.decided(g)
		return Verdict{Decision: d, Source: ByCluster}
	}
	why := reasonOf(ctx, err)
	g.metrics.undecided[why].Inc()
	v := Verdict{Source: ByDeny, Err: err}
	if why != canceled {
		g.outage.undecided(g, why, err)
		v = g.standIn(&r, policy, err)
	}
	g.metrics.checks[v.Source].Inc()
	return v
}

// Note remembers the limits that are stored now, for when one of them is gone. Every check does so; where none may come for
// long, it is to be called now and then.
func (g *Guard) Note() { g.parts.stored(g.limits()) }

// standIn is the verdict by the policy.
func (g *Guard) standIn(r *limit.Request, policy limit.Policy, err error) Verdict {
	var room [limit.MaxLimits]*part
	parts := g.parts.of(room[:0], g.limits(), r.Limits)
	if policy == "" {
		policy = strictest(parts)
	}
	switch policy {
	case limit.Allow:
		return Verdict{Decision: limit.Decision{Allowed: true}, Source: ByAllow, Err: err}
	case limit.Local:
		if d, ok := g.local.decide(r, parts); ok {
			return Verdict{Decision: d, Source: ByLocal, Err: err}
		}
	case limit.Deny:
	}
	return Verdict{Source: ByDeny, Err: err}
}

// strictest is the policy of a check's limits; nil stands for one that is not known.
func strictest(parts []*part) limit.Policy {
	policy := limit.Allow
	for _, p := range parts {
		switch {
		case p == nil || p.whole.OnUnavailable == limit.Deny:
			return limit.Deny
		case p.whole.OnUnavailable == limit.Local:
			policy = limit.Local
		}
	}
	return policy
}

// Return gives back, in the background, the admissions of key that the receipts prove. At most 10,000 wait at a time;
// more are dropped and counted, as are those that come after Close and those that the Checker does not take back: the
// tokens then come back with the refill alone. Of ctx only the values count, not its end.
func (g *Guard) Return(ctx context.Context, key string, receipts []limit.Receipt) {
	if len(receipts) > 0 {
		g.returns.add(ctx, key, receipts)
	}
}

// Close waits for at most half a second until what is being given back is, and drops the rest. It does not close the
// Checker. Checks are still answered after it.
func (g *Guard) Close() {
	g.closing.Do(func() {
		g.returns.close()
		g.local.close()
	})
}
