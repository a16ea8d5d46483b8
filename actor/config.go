package actor

import (
	"log/slog"
	mathrand "math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// DefaultInlineFill is how long an empty bucket may take to fill by a limit that a request defines, unless the Config says
// otherwise: 366 days.
const DefaultInlineFill = 366 * 24 * time.Hour

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
	// LedgersInTokens says whether other nodes, or the release before, may have to read ledgers of buckets in the form of the level before
	// level.LedgersInTime. It is called for each that is written, so it must be cheap. nil means never.
	LedgersInTokens func() bool
	// Shards is how many goroutines run actors; 0 means one for each processor, at most 16.
	Shards int
	// Mailbox is how many checks may wait in one actor; 0 means 65,536. More are answered with ErrOverloaded.
	Mailbox int
	// Inbox is how many checks may be handed to a shard and not yet looked at; 0 means 131,072, or fewer if Memory is short.
	// More are answered with ErrOverloaded.
	Inbox int
	// Memory is how many bytes the awake and dormant keys, what they remember and the checks that wait may take, about; 0 means no bound.
	// When they come near it the System forgets what makes it stricter and never looser: the oldest first, receipts and
	// returned line, then request ids, then keys that are idle; and line that is held, the smallest shares of a bucket first. Last, it answers checks of further keys with ErrOverloaded.
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
	// ShowHotKeys has metrics name hot keys as they are. Without it they are named by hashes: more people may read metrics than may know
	// keys.
	ShowHotKeys bool

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

// shared is what the shards of a System have in common.
type shared struct {
	cfg     Config
	id      limit.OwnerID
	owners  [owner.MaxReplicas + 1]owner.Config // by the number of replicas
	metrics *metrics
	shedLog shedLog
	labels  keyLabels
	checked atomic.Int64 // checks a second, of all shards: see heat
}

// configureOwners fills in what owners with each number of replicas need to know. A single replica is this node's own
// storage: it answers everything, unless it has ended for good.
func (s *shared) configureOwners() {
	var (
		seq   atomic.Uint64
		nonce nonces
	)
	for n := 1; n <= owner.MaxReplicas; n++ {
		s.owners[n] = owner.Config{
			Replicas:        n,
			Delta:           owner.DefaultDelta,
			ReturnFor:       owner.DefaultReturnFor,
			Busy:            owner.DefaultBusy,
			Slack:           s.cfg.Bounds.Slack(),
			Late:            2 * s.cfg.Bounds.EpsMax,
			LedgersInTokens: s.cfg.LedgersInTokens,
			NextSeq:         func() uint64 { return seq.Add(1) },
			Nonce:           nonce.next,
			Rand:            mathrand.Int64N,
		}
		if n > 1 {
			s.owners[n].Resend, s.owners[n].Patience = owner.DefaultResend, owner.DefaultPatience
		}
	}
}
