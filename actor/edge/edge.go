// Package edge decides checks where they are made, as far as their limits let it. An [Edge] stands on a [limit.Limiter] that asks the cluster, and is one: it keeps a
// [lease.Holding] of each bucket about which it may decide, by the consistency of the limit, and all else goes through.
//
//	Check ─▶ each limit: strong ─────────────────────────────────────────────▶ the cluster
//	           └─ another ─▶ what is held is enough ─▶ admitted here, or put back ◀─┤ it denies the rest
//	                ├─ eventual or local, and nothing is left ─▶ denied here       │
//	                ├─ leased, and the owner would deny it still ─▶ denied here    │
//	                └─ leased, or nothing heard yet ─▶ waits for a lease, or ──────┘
//
// What an edge holds by a lease is its own until time has passed it, so whatever becomes of an edge, nobody gets more than a leased limit says. Only the owner knows that nothing is
// left of a leased limit: here is denied what the owner has just denied, and would deny still.
//
// Start with [New]. What is decided is decided by package lease, which is pure.
package edge

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/together"
)

// Config is what an Edge is made of.
type Config struct {
	// Cluster decides what the edge does not, and gives leases. Required.
	Cluster limit.Limiter
	// Limits are the stored limits in force: the same pointer until they change, and nil while they are not known. Required.
	Limits func() *limit.Document
	// Go runs a function in the background, until the context that it gets ends. It returns false, without running it, where it runs nothing any more. Required.
	Go func(func(context.Context)) bool
	// Timeout is how long a check may take when its context has no deadline; 0 for no bound of the edge's.
	Timeout time.Duration
	// Edges is how many edges share limits that are local and divided; 0 means 1.
	Edges int
	// RepeatDenials is how long a denial of a leased limit is repeated at most, without asking the cluster: until the time at which its owner would admit the check, and up to
	// [lease.MaxKnown], which 0 stands for. Below 0, none is.
	RepeatDenials time.Duration
	// Name is the edge's, for people: at most [limit.MaxEdge] bytes.
	Name string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// An Edge is a [limit.Limiter] that decides by what it holds. It is safe for concurrent use.
type Edge struct {
	cfg     Config
	id      limit.OwnerID // stands in the receipts of what was spent here
	tag     uint64        // tells owners this edge from others of its name
	clock   clock
	seed    maphash.Seed
	edges   atomic.Int64 // that share limits that are local and divided
	limited atomic.Pointer[edgeLimits]
	shards  [shards]shard
	counts  *counts
	tidying atomic.Bool // the goroutine that tidies runs
	closed  atomic.Bool // it decides nothing any more
	giving  atomic.Bool // what is not needed is being given back
	reports reportQueue
}

var _ limit.Limiter = (*Edge)(nil)

// New makes an Edge. The error says what is missing in cfg.
func New(cfg Config) (*Edge, error) {
	if cfg.Cluster == nil || cfg.Limits == nil || cfg.Go == nil {
		return nil, fmt.Errorf("edge: Cluster, Limits and Go are required")
	}
	cfg.Name = strings.ToValidUTF8(cfg.Name[:min(len(cfg.Name), limit.MaxEdge)], "")
	e := &Edge{cfg: cfg, seed: maphash.MakeSeed(), counts: newCounts()}
	_, _ = rand.Read(e.id[:]) // it never fails
	e.tag = number()
	e.SetEdges(cfg.Edges)
	e.clock.begin()
	for i := range e.shards {
		e.shards[i].shares = make(map[bucketID]*share)
	}
	if err := e.counts.register(cfg.Registerer, e.heldTokens); err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	return e, nil
}

// SetEdges says how many edges share limits that are local and divided, from now on; 0 means 1.
func (e *Edge) SetEdges(n int) { e.edges.Store(int64(max(n, 1))) }

// Check implements [limit.Checker].
func (e *Edge) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	var room [limit.MaxLimits]choice
	own := e.split(&r, &room)
	if own == nil {
		return e.cfg.Cluster.Check(ctx, r)
	}
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	d, by, err := e.decide(ctx, &r, own)
	e.counts.decided(by)
	return d, err
}

// CheckAll implements [limit.AllChecker].
func (e *Edge) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	if e.limits().rules == nil {
		return e.cfg.Cluster.CheckAll(ctx, rs)
	}
	ctx, cancel := e.withDeadline(ctx)
	defer cancel()
	return together.CheckAll(ctx, e, rs, e.cfg.Go)
}

// split says by what this edge decides about each limit of r, in their order. It is nil where that is none, or r asks for more than a decision, or for a plan that is not
// there, which the cluster says.
func (e *Edge) split(r *limit.Request, room *[limit.MaxLimits]choice) []choice {
	at := e.limits()
	if at.rules == nil || e.closed.Load() || r.ID != "" || r.Wait != 0 || r.Hold != 0 || r.Extend != 0 || r.Lease != nil || r.Charge || len(r.Limits) > len(room) {
		return nil
	}
	some := false
	for i, ref := range r.Limits {
		room[i] = choice{}
		if ref.Inline == nil {
			room[i] = at.choose(ref.Name, r.Key, r.Plan)
		}
		rule := room[i].rule
		if r.Look && (rule == nil || rule.Consistency != limit.OfEdge) { // owners know what is left of all others
			return nil
		}
		some = some || rule != nil
	}
	if !some || r.Plan != "" && at.of.CheckPlan(r.Plan, r.Limits) != nil {
		return nil
	}
	return room[:len(r.Limits)]
}
