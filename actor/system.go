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
// An actor that has nothing to lose is forgotten: an idle key owns no goroutine and no memory.
//
// Which replicas those are depends on the key's partition, and may change at any time: see [Placement]. The actor goes on
// with what it holds, and reserves at the new ones. For partitions that this node keeps no registers of, it has no actors.
//
// Start with [New]; a [System] is a [limit.Limiter].
package actor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// MaxWait is the longest that a check waits for its decision, whatever its context says.
const MaxWait = 30 * time.Second

// ErrInternal means that deciding panicked: a bug of jeton's. The key's actor was forgotten, and the next check of the
// key starts afresh.
var ErrInternal = errors.New("internal error")

// errStopping answers what is asked of a System that has been closed.
var errStopping = fmt.Errorf("%w: the node is stopping", limit.ErrUnavailable)

// ErrGone is the error of a Replica that has not been reachable for Patience: no check waits for it.
var ErrGone = errors.New("it has been out of reach for long")

// Patience is how long a check waits for a majority of replicas that was lost just now.
const Patience = time.Duration(owner.DefaultPatience)

// A Replica keeps registers: this node's storage, or a peer.
type Replica interface {
	// Reserve calls done once and never again, from any goroutine, with the answers to rs in their order, once they are durable; or with
	// an error if this replica will not answer, which may be ErrGone. It must not block, and keeps rs until then. Now is left open in rs: this
	// node's storage has the same clock, and a peer's messages are stamped when they are sent.
	Reserve(rs []register.Reservation, done func([]register.Answer, error))
	// Look returns a register as it stands. Nothing may be decided from it.
	Look(ctx context.Context, p ring.Partition, key, limit string) (storage.Looked, error)
}

// Config says how a System decides.
type Config struct {
	// Placement says where a partition's registers are now, or nil if this node is no replica of it; then what is asked
	// about its keys is answered with ErrMoved. It is called for nearly every check, so it must be cheap, and must return
	// the same pointer until something has changed. The owner goes on with what it holds when it is told of a new epoch.
	// Required, unless Replicas are given.
	Placement func(ring.Partition) *Placement
	// Replicas are, in place of a Placement, those of every partition in ring.FirstEpoch for as long as the node runs: 1
	// to owner.MaxReplicas.
	Replicas []Replica
	// Limits returns the stored limits that are in force. Required.
	Limits func() *limit.Document
	// Now is the node clock. Required.
	Now func() int64
	// Ahead is by how much the node clock has been put forward so far, in nanoseconds. When it has grown, checks that wait
	// are answered with a limit.ErrUnavailable: the times that they were given are of a clock that was behind. nil means
	// never.
	Ahead func() int64
	// Serving says why this node decides nothing at present, such as a clock that is off, and nil if it does: checks,
	// denials too, resets and returns are answered with its error, which is to be a limit.ErrUnavailable. It is called once
	// for up to some hundred checks that arrive together. nil means that the node always serves.
	Serving func() error
	// Node is the node's name, for people to read.
	Node string
	// Partitions is how many partitions the cluster has; 0 means ring.DefaultPartitions.
	Partitions int
	// Bounds are the cluster's; the zero value means register.DefaultBounds.
	Bounds register.Bounds
	// Shards is how many goroutines run actors; 0 means one for each processor, at most 16.
	Shards int
	// Mailbox is how many checks may wait in one actor; 0 means 65,536. More are answered with ErrOverloaded.
	Mailbox int
	// Inbox is how many checks may be handed to a shard and not yet looked at; 0 means 131,072, or fewer if Memory is short.
	// More are answered with ErrOverloaded.
	Inbox int
	// Memory is how many bytes the awake keys, what they remember and the checks that wait may take, about; 0 means no bound.
	// When they come near it the System forgets, the oldest first, what makes it stricter and never looser: receipts and
	// returned line, then request ids, then keys that are idle. Last, it answers checks of further keys with ErrOverloaded.
	Memory int64
	// Full says that further keys have no room where their registers are kept: their checks are answered with ErrOverloaded.
	// It is called for every key that wakes, so it must be cheap; nil means never.
	Full func() bool
	// IdleAfter is how long after its last check an actor may be forgotten; 0 means a second.
	IdleAfter time.Duration
	// InlineFill is how long an empty bucket may take to fill by a limit that a request defines: its register is kept for so
	// long. 0 means DefaultInlineFill.
	InlineFill time.Duration
	// Logger receives what goes wrong; nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the System's metrics; nil means none.
	Metrics prometheus.Registerer

	beforeStep func(key string) // for tests: called before an actor is run
}

func (c *Config) setDefaults() {
	if c.Ahead == nil {
		c.Ahead = func() int64 { return 0 }
	}
	if c.Partitions == 0 {
		c.Partitions = ring.DefaultPartitions
	}
	if c.Bounds == (register.Bounds{}) {
		c.Bounds = register.DefaultBounds()
	}
	if c.Shards == 0 {
		c.Shards = min(runtime.GOMAXPROCS(0), runtime.NumCPU(), 16)
	}
	if c.Mailbox == 0 {
		c.Mailbox = 1 << 16
	}
	if c.Inbox == 0 {
		c.Inbox = 1 << 17
		if c.Memory > 0 {
			c.Inbox = int(min(max(c.Memory/4/mailBytes/int64(c.Shards), 2*limit.MaxBatch), 1<<17))
		}
	}
	if c.Full == nil {
		c.Full = func() bool { return false }
	}
	if c.IdleAfter == 0 {
		c.IdleAfter = time.Second
	}
	if c.InlineFill == 0 {
		c.InlineFill = DefaultInlineFill
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.beforeStep == nil {
		c.beforeStep = func(string) {}
	}
}

// A System decides the checks of one node. It is safe for concurrent use.
type System struct {
	cfg     Config
	id      limit.OwnerID
	owners  [owner.MaxReplicas + 1]owner.Config // by the number of replicas
	metrics *metrics
	shards  []*shard
	running sync.WaitGroup
	calls   sync.Pool // of *call: answered, and owned by nobody
	warner  warner
}

var (
	_ limit.Limiter     = (*System)(nil)
	_ limit.EachChecker = (*System)(nil)
)

// New starts a System. Close stops it.
func New(cfg Config) (*System, error) {
	cfg.setDefaults()
	switch {
	case cfg.Placement == nil:
		at, err := alone(cfg.Replicas, cfg.Node)
		if err != nil {
			return nil, fmt.Errorf("actor: %w", err)
		}
		cfg.Placement = at
	case len(cfg.Replicas) > 0:
		return nil, errors.New("actor: both Placement and Replicas are given: leave one of them out")
	}
	s := &System{cfg: cfg}
	if _, err := rand.Read(s.id[:]); err != nil {
		return nil, fmt.Errorf("draw the owner's name: %w", err)
	}
	s.warner.sys = s
	s.configureOwners()
	s.metrics = newMetrics(cfg.Metrics)
	for range cfg.Shards {
		s.shards = append(s.shards, newShard(s))
	}
	s.metrics.observe(cfg.Metrics, s)
	for _, sh := range s.shards {
		s.running.Go(sh.run)
	}
	return s, nil
}

// configureOwners fills in what owners with each number of replicas need to know. A single replica is this node's own
// storage: it answers everything, unless it has ended for good.
func (s *System) configureOwners() {
	var (
		seq   atomic.Uint64
		nonce nonces
	)
	for n := 1; n <= owner.MaxReplicas; n++ {
		s.owners[n] = owner.Config{
			Replicas:  n,
			Delta:     owner.DefaultDelta,
			ReturnFor: owner.DefaultReturnFor,
			Busy:      owner.DefaultBusy,
			Slack:     s.cfg.Bounds.Slack(),
			NextSeq:   func() uint64 { return seq.Add(1) },
			Nonce:     nonce.next,
			Rand:      mathrand.Int64N,
		}
		if n > 1 {
			s.owners[n].Resend, s.owners[n].Patience = owner.DefaultResend, owner.DefaultPatience
		}
	}
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
	c := s.newCall(ctx, 1, nil)
	m := &c.mail[0]
	m.check(&r)
	if err := s.resolve(m, s.cfg.Limits(), r.Limits, nil); err != nil {
		s.free(c)
		return limit.Decision{}, err
	}
	s.shardOf(m).push(m)
	if err := c.wait(ctx); err != nil {
		return limit.Decision{}, err
	}
	answer := c.single
	s.free(c)
	s.metrics.latency.Observe(time.Since(start).Seconds())
	return answer.Decision, answer.Err
}

// CheckBatch decides every request by itself; see [limit.BatchChecker].
func (s *System) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if err := refused(ctx, rs); err != nil {
		return failed(rs, err)
	}
	start := time.Now()
	results := make([]limit.Result, len(rs))
	c := s.newCall(ctx, len(rs), results)
	s.hand(c, rs)
	if err := c.wait(ctx); err != nil {
		return failed(rs, err)
	}
	s.free(c)
	s.metrics.latency.Observe(time.Since(start).Seconds())
	return results
}

// refused is why nothing of a batch is looked at, or nil.
func refused(ctx context.Context, rs []limit.Request) error {
	if len(rs) > limit.MaxBatch {
		problem := fmt.Sprintf("%d are too many: at most %d", len(rs), limit.MaxBatch)
		return &limit.FieldError{Field: "checks", Problem: problem}
	}
	return ctx.Err()
}

// hand brings the checks of a batch to their shards, each shard's together.
func (s *System) hand(c *call, rs []limit.Request) {
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
		if m.inline == 0 {
			last = m.rules[0]
		}
		n := m.hash % uint64(len(s.shards))
		c.byShard[n] = append(c.byShard[n], m)
	}
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
		mine.attend()
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

// Return gives back what the receipts prove; see [limit.Returner].
func (s *System) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateReturn(key, len(receipts)); err != nil {
		return nil, err
	}
	o := &others{receipts: receipts}
	if err := s.ask(ctx, &mail{kind: giveBack, key: key, others: o}); err != nil {
		return nil, err
	}
	return o.returned, nil
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
	c := &call{deadline: s.deadline(ctx), caller: limit.CallerOf(ctx), done: make(chan struct{}, 1)}
	c.open.Store(1)
	m.call, m.result = c, &c.single
	sh.push(m)
	if err := c.wait(ctx); err != nil {
		return err
	}
	return c.single.Err
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
