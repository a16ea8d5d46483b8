// Package actor decides checks on one node: every key that is being checked has an actor, which holds the key's buckets
// in memory and is run by one goroutine at a time, whichever holds its shard, so that a decision is a plain
// read-modify-write. What actors reserve of their buckets' lines is kept by replicas; the shard hands it over and goes on
// with other keys, and the caller waits.
//
//	System.Check ─▶ shard (many actors, one at a time) ─▶ actor ─▶ owner's step: from memory, or …
//	     ▲                                                              │ reserve
//	     │                                                              ▼
//	     └── decision ◀── actor ◀── shard ◀── answers of a majority ◀── Replica (fsync)
//
// An actor that has nothing to lose is forgotten: an idle key owns no goroutine and no memory. One that has nothing to lose but line that
// it holds is forgotten too, and its key is dormant: the shard keeps the line, in a few bytes, for the actor that the next check makes.
//
// Which replicas those are depends on the key's partition, and may change at any time: see [Placement]. The actor goes on
// with what it holds, and reserves at the new ones. For partitions that this node keeps no registers of, it has no actors.
//
// The package has some 3,200 lines, because a shard holds all that its actors share under one lock: the inbox, the round, alarms, memory,
// messages to replicas.
//
// Start with [New]; a [System] is a [limit.Limiter].
package actor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/together"
	"github.com/jeton-dev/jeton/internal/exemplar"
	"github.com/jeton-dev/jeton/ring"
)

// MaxWait is the longest that a check waits for its decision, whatever its context says.
const MaxWait = 30 * time.Second

// A System decides the checks of one node. It is safe for concurrent use.
type System struct {
	shared

	shards  []*shard
	running sync.WaitGroup
	bundles bundlePool
}

var _ limit.Limiter = (*System)(nil)

// New starts a System. Close stops it.
func New(cfg Config) (*System, error) {
	cfg.setDefaults()
	switch {
	case cfg.Placement == nil:
		at, err := fixedPlacement(cfg.Replicas, cfg.Node)
		if err != nil {
			return nil, fmt.Errorf("actor: %w", err)
		}
		cfg.Placement = at
	case len(cfg.Replicas) > 0:
		return nil, errors.New("actor: both Placement and Replicas are given: leave one of them out")
	}
	s := &System{shared: shared{cfg: cfg}}
	if _, err := rand.Read(s.id[:]); err != nil {
		return nil, fmt.Errorf("draw the owner's name: %w", err)
	}
	var err error
	if s.labels, err = newKeyLabels(cfg.ShowHotKeys); err != nil {
		return nil, err
	}
	s.configureOwners()
	s.metrics = newMetrics(cfg.Metrics)
	s.shedLog = shedLog{counters: &s.metrics.shed, held: s.held, memory: cfg.Memory, logger: cfg.Logger}
	s.bundles = bundlePool{shards: cfg.Shards, latency: s.metrics.latency}
	for range cfg.Shards {
		s.shards = append(s.shards, newShard(&s.shared))
	}
	observe(cfg.Metrics, s.awake, s.dormant, s.held, cfg.Memory)
	if cfg.Metrics != nil {
		cfg.Metrics.MustRegister(newHotKeys(s.Checked), newBucketGauges(s.gauged))
	}
	for _, sh := range s.shards {
		s.running.Go(sh.run)
	}
	return s, nil
}

// Close answers everything that waits with limit.ErrUnavailable, and stops. The Replicas stay open: they are to be
// closed after the System.
func (s *System) Close() {
	for _, sh := range s.shards {
		sh.inbox.close()
	}
	s.running.Wait()
}

// ID is the name of this life of the node's owners, which its receipts carry.
func (s *System) ID() limit.OwnerID { return s.id }

// Check decides r; see [limit.Checker].
func (s *System) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	start := time.Now()
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	if err := ctx.Err(); err != nil {
		return limit.Decision{}, err
	}
	c := s.newBundle(ctx, 1, nil)
	m := &c.mail[0]
	m.check(&r)
	if err := s.resolve(m, s.cfg.Limits(), r.Limits, nil); err != nil {
		s.bundles.free(c)
		return limit.Decision{}, err
	}
	if len(m.rules) == 0 {
		d := m.whole(limit.Decision{Allowed: true})
		s.metrics.judged(&d, s.cfg.Now())
		s.bundles.free(c)
		return d, nil
	}
	s.shardOf(m).push(m)
	if err := c.wait(ctx); err != nil {
		return limit.Decision{}, err
	}
	answer := c.single
	s.bundles.free(c)
	exemplar.Observe(s.metrics.latency, time.Since(start).Seconds(), exemplar.Of(ctx))
	return answer.Decision, answer.Err
}

// CheckBatch decides every request by itself; see [limit.BatchChecker].
func (s *System) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if err := refused(ctx, len(rs)); err != nil {
		return failed(rs, err)
	}
	start := time.Now()
	results := make([]limit.Result, len(rs))
	c := s.newBundle(ctx, len(rs), results)
	s.sortChecks(c, rs)
	s.handOver(c)
	if err := c.wait(ctx); err != nil {
		return failed(rs, err)
	}
	s.bundles.free(c)
	exemplar.Observe(s.metrics.latency, time.Since(start).Seconds(), exemplar.Of(ctx))
	return results
}

// refused is why nothing of so many checks and settlements is looked at, or nil.
func refused(ctx context.Context, n int) error {
	if n > limit.MaxBatch {
		return &limit.FieldError{Field: "checks", Problem: fmt.Sprintf("%d are too many: at most %d", n, limit.MaxBatch)}
	}
	return ctx.Err()
}

// sortChecks puts the checks of a batch to those of their shards, or answers them.
func (s *System) sortChecks(c *bundle, rs []limit.Request) {
	room := make([]limit.Outcome, len(rs)) // for the usual one limit of each
	doc := s.cfg.Limits()
	var last *limit.Rule // most requests of a batch name the same limit
	for i := range rs {
		r, m := &rs[i], &c.mail[i]
		m.check(r)
		m.room = room[i : i : i+1]
		err := r.Validate()
		if err == nil {
			err = s.resolve(m, doc, r.Limits, last)
		}
		if err != nil {
			m.fail(err)
			continue
		}
		if len(m.rules) == 0 {
			d := m.whole(limit.Decision{Allowed: true})
			s.metrics.judged(&d, s.cfg.Now())
			m.pass(limit.Decision{Allowed: true})
			continue
		}
		if m.inline == 0 && m.plan == "" && !doc.HasOverrides() {
			last = m.rules[0]
		}
		s.sort(m)
	}
}

// sort puts one mail of a bundle to those of its shard.
func (s *System) sort(m *mail) {
	n := m.hash % uint64(len(s.shards))
	m.bundle.byShard[n] = append(m.bundle.byShard[n], m)
}

// handOver brings the mail of a bundle that was sorted to its shards, each shard's together.
func (s *System) handOver(c *bundle) {
	var mine *shard // others are woken first
	for n, ms := range c.byShard {
		switch sh := s.shards[n]; {
		case len(ms) == 0 || !sh.inbox.push(ms...):
		case mine == nil:
			mine = sh
		default:
			sh.inbox.notify()
		}
	}
	if mine != nil {
		mine.runOrNotify()
	}
}

// failed is the same error for every request of a batch.
func failed(rs []limit.Request, err error) []limit.Result {
	results := make([]limit.Result, len(rs))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// CheckAll charges all requests or none; see [limit.AllChecker].
func (s *System) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	return together.CheckAll(ctx, s, rs, nil)
}

// Return gives back what the receipts prove; see [limit.Returner].
func (s *System) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	m := &mail{kind: giveBack, key: key, other: &otherMail{receipts: receipts, returned: make([]bool, len(receipts))}}
	if err := s.findPermits(m); err != nil {
		return nil, err
	}
	if err := s.ask(ctx, m); err != nil {
		return nil, err
	}
	return m.other.returned, nil
}

// Reset fills a bucket; see [limit.Resetter].
func (s *System) Reset(ctx context.Context, key string, ref limit.Ref) error {
	if err := limit.ValidateKey(key); err != nil {
		return err
	}
	m := &mail{kind: reset, key: key}
	if err := s.resolve(m, s.cfg.Limits(), []limit.Ref{ref}, nil); err != nil {
		return err
	}
	return s.ask(ctx, m)
}

// ask hands one mail that is no check to its key's shard and waits.
func (s *System) ask(ctx context.Context, m *mail) error {
	m.hash = ring.Hash(m.key)
	return s.askShard(ctx, s.shardOf(m), m)
}

func (s *System) askShard(ctx context.Context, sh *shard, m *mail) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &bundle{deadline: s.deadline(ctx), caller: limit.CallerOf(ctx), done: make(chan struct{}, 1)}
	c.open.Store(1)
	m.bundle, m.result = c, &c.single
	sh.push(m)
	if err := c.wait(ctx); err != nil {
		return err
	}
	return c.single.Err
}

// newBundle is a bundle of n mails for a caller with ctx: see [bundlePool.take].
func (s *System) newBundle(ctx context.Context, n int, results []limit.Result) *bundle {
	c := s.bundles.take(n, results)
	c.deadline = s.deadline(ctx)
	c.caller, c.trace = limit.TracedCallerOf(ctx)
	return c
}

// deadline is when ctx ends, on the node clock.
func (s *System) deadline(ctx context.Context) int64 {
	wait := MaxWait
	if at, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(at))
	}
	return s.cfg.Now() + int64(wait)
}

func (s *System) shardOf(m *mail) *shard { return s.shards[m.hash%uint64(len(s.shards))] }

// awake is how many actors there are.
func (s *System) awake() (n int64) {
	for _, sh := range s.shards {
		n += sh.awakeNow.Load()
	}
	return n
}

// dormant is how many keys are dormant.
func (s *System) dormant() (n int64) {
	for _, sh := range s.shards {
		n += sh.dormantNow.Load()
	}
	return n
}

// held is how many bytes all actors and dormant keys take, about.
func (s *System) held() (n int64) {
	for _, sh := range s.shards {
		n += sh.heldNow.Load()
	}
	return n
}
