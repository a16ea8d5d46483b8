// Package fallback sits between a gateway and the cluster: it gives every check a budget of time. When the cluster does not
// decide within it, the policy of the limits or of the check applies: allow, deny, or a local bucket of this gateway. A denial of
// the cluster is known while it holds, for a second at most: the same request is denied again without asking.
//
// It promises that an outage of the cluster delays a request by no more than the budget, that n gateways which decide locally
// together grant no more than the limits say (see [Guard.Check] for the rounding of very small limits), and that its memory is
// bounded.
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

// defaultWithin is the budget if the configuration gives none.
const defaultWithin = 50 * time.Millisecond

// Config is the configuration of a Guard.
type Config struct {
	// Checker decides; required. If it is also a [limit.Returner], receipts can be given back. It must return when its context
	// ends, by Done or Deadline: a check lasts until it returns. If it has a method First(key string) string, which names the
	// node that decides about a key first, then only denials of that node are known. What wraps the client of a cluster or a node passes
	// that method on: otherwise a denial is known that a replica made without most of the key's line.
	Checker limit.Checker
	// Limits returns the stored limits in force: the same pointer until they change, and nil while they are not known. Required.
	Limits func() *limit.Document
	// Gateways is how many gateways share the limits that are decided locally. 0 means 1.
	Gateways int
	// Before is the Guard that this one replaces: this one remembers the limits that Before does. Nil means none.
	Before *Guard
	// Within is the budget of a check. 0 means 50 ms.
	Within time.Duration
	// Known is how long a denial is known at most, up to [MaxKnown]. 0 means that the Checker is always asked.
	Known time.Duration
	// Now is the time in nanoseconds since the Unix epoch, by which local buckets refill. When it goes back, buckets do not
	// refill until it has caught up. Nil means a clock that ignores later corrections of the time of day.
	Now func() int64
	// Registerer registers the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger logs when the cluster stops deciding and when it decides again. Nil discards that.
	Logger *slog.Logger
}

// A Guard checks within a budget and always has a verdict. It is safe for concurrent use.
type Guard struct {
	checker limit.Checker
	limits  func() *limit.Document
	within  time.Duration
	now     func() int64
	log     *slog.Logger
	metrics metrics
	parts   divider
	known   *known
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
	case cfg.Known < 0 || cfg.Known > MaxKnown:
		return nil, fmt.Errorf("fallback: a denial cannot be known for %v: from 0s to %v", cfg.Known, MaxKnown)
	}
	g := &Guard{
		checker: cfg.Checker, limits: cfg.Limits, within: cfg.Within, now: cfg.Now, log: cfg.Logger,
		parts: divider{gateways: max(cfg.Gateways, 1)}, known: newKnown(cfg.Known, cfg.Checker),
	}
	if g.within == 0 {
		g.within = defaultWithin
	}
	if g.now == nil {
		g.now = monotonic()
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Before != nil {
		g.parts.inherit(&cfg.Before.parts)
	}
	g.outage.now, g.outage.log = g.now, g.log
	g.local = newBuckets(g.now)
	g.metrics = newMetrics(g.local, &g.outage)
	if err := g.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	giver, _ := cfg.Checker.(limit.Returner)
	g.returns = newReturns(giver, g.metrics.returns)
	return g, nil
}

// monotonic is a clock that starts at the time of day and ignores later corrections of it.
func monotonic() func() int64 {
	start := time.Now()
	at := start.UnixNano()
	return func() int64 { return at + int64(time.Since(start)) }
}

// Check asks the Checker to decide r within the budget, or within the rest of ctx if that is shorter. If it does not, the policy
// gives the verdict:
//
//	known denial: ByKnown
//	   └─ none ─▶ Checker ─▶ decided: ByCluster, or ByEdge where it was left to this gateway
//	                └─ error ─▶ policy ─▶ allow: ByAllow, deny: ByDeny, local: ByLocal
//
// The Checker is not asked where it has denied the same request and that denial still holds, for as long as Config.Known. The Limits
// of a request are remembered with it, and must not be changed.
//
// The policy is the argument; if it is empty, it is the on_unavailable of the limits, and of several the strictest: deny before
// local before allow. A limit that was removed from the stored ones counts as it was before, for up to 1,000 removed limits. A
// limit that was never known, because no limits have arrived yet or because it was not among them, counts as one with deny, and
// cannot be decided locally under any policy. So a mistake in the configuration (limit.ErrUnknownLimit, a *limit.FieldError) is
// handled like an outage, and is counted and logged.
//
// The policy is asked about those limits alone of which there is no decision: the Checker may have decided the others by itself, as a *limit.UndecidedError says.
// What these took is kept if the policy admits, and given back if it does not.
//
// Local buckets have the limit's capacity divided by the number of gateways, rounded down, and its refill divided
// exactly. If the capacity is smaller than the number of gateways, they hold one token: then all gateways together may grant a
// burst of one token each, while the refill stays exact. A limit so slow that its part would take more than 73 years to fill, or
// whose refill has numbers so large that its part cannot be represented, is not decided locally but denied. Several limits all
// admit, or none is charged. A bucket starts full, since the gateway does not know what the cluster granted before. A Guard keeps
// at most 100,000 buckets; when all are in use, checks that need another one are denied.
//
// If ctx itself has ended, the caller no longer waits: the verdict is ByDeny under every policy.
func (g *Guard) Check(ctx context.Context, r limit.Request, policy limit.Policy) Verdict {
	return g.CheckBy(ctx, r, policy, g.Deadline())
}

// Within is the budget of a request.
func (g *Guard) Within() time.Duration { return g.within }

// Deadline is the end of the budget of a request that arrives now.
func (g *Guard) Deadline() time.Time { return time.Now().Add(g.within) }

// CheckBy is Check for a request with several checks, which share one budget: deadline is when that is used up, as [Guard.Within] says less what the checks before
// have taken of it.
func (g *Guard) CheckBy(ctx context.Context, r limit.Request, policy limit.Policy, deadline time.Time) Verdict {
	r = g.asked(r)
	stored, sent := g.limits(), g.now()
	if d, since := g.known.recall(&r, stored, sent); d != nil {
		g.metrics.checks[ByKnown].Inc()
		return Verdict{Decision: *d, Source: ByKnown, Since: time.Unix(0, since)}
	}
	b := budget{parent: ctx, deadline: deadline}
	d, err := g.checker.Check(&b, r)
	for less(&r, err) {
		g.giveBack(ctx, &r, err)
		d, err = g.checker.Check(&b, r)
	}
	b.end()
	if err == nil {
		g.Note()
		repeated := g.known.note(&r, &d, stored, sent, g.now())
		by := decider(&r, &d, stored)
		g.metrics.checks[by].Inc()
		g.outage.decided()
		return Verdict{Decision: d, Source: by, Repeated: repeated, MayWait: r.Wait}
	}
	why := reasonOf(ctx, err)
	g.metrics.undecided[why].Inc()
	v := Verdict{Source: ByDeny, Err: err}
	if why != canceled {
		g.outage.undecided(why, err)
		v = g.byPolicy(&r, policy, err)
	}
	if !v.Allowed {
		g.giveBack(ctx, &r, err)
	}
	g.metrics.checks[v.Source].Inc()
	v.MayWait = r.Wait
	return v
}

// Note remembers the limits that are stored now, for the case that one of them is removed. Every check does so; a gateway that
// may have no checks for a long time calls it now and then.
func (g *Guard) Note() { g.parts.stored(g.limits()) }

// byPolicy is the verdict when the cluster did not decide: about those limits that have no decision.
func (g *Guard) byPolicy(r *limit.Request, policy limit.Policy, err error) Verdict {
	var room [limit.MaxLimits]*part
	rest := restOf(r, err)
	parts := g.parts.of(room[:0], g.limits(), &rest.Request)
	if policy == "" {
		policy = strictest(parts)
	}
	switch policy {
	case limit.Allow:
		return Verdict{Decision: rest.admitted(r), Source: ByAllow, Err: err}
	case limit.Local:
		if d, ok := g.local.decide(&rest.Request, parts); ok {
			return Verdict{Decision: rest.with(r, d), Source: ByLocal, Err: err}
		}
	case limit.Deny:
	}
	return Verdict{Source: ByDeny, Err: err}
}

// strictest is the policy of a check by the on_unavailable of its limits; a nil part is a limit that is not known.
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

// Return gives back, in the background, the admissions of key that the receipts prove. Its queue holds 10,000 entries; further
// ones are dropped and counted, as are those after Close. Tokens that are not given back return with the refill. Return uses
// the values of ctx, such as its trace, but not its deadline or cancellation.
func (g *Guard) Return(ctx context.Context, key string, receipts []limit.Receipt) {
	if len(receipts) > 0 {
		g.returns.add(ctx, key, receipts)
	}
}

// giveBack gives back what the limits took of which there is a decision, where r is not admitted.
func (g *Guard) giveBack(ctx context.Context, r *limit.Request, err error) {
	if part, ok := errors.AsType[*limit.UndecidedError](err); ok {
		g.Return(ctx, r.Key, part.Decided.Receipts)
	}
}

// Close waits for at most half a second until all receipts are given back, and drops the rest. It does not close the
// Checker. Checks still work afterwards.
func (g *Guard) Close() {
	g.closing.Do(func() {
		g.returns.close()
		g.local.close()
	})
}
