// Package driver carries out changes of the table on the raft leader: it plans them when members come and go, and moves each
// partition to the replicas that were planned, a few at a time. The steps of one move are those of ring/move, the plans those
// of ring/agreed; this package makes the calls to nodes and the proposals to raft. Start with [New] and [Driver.Run].
package driver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/move"
)

// Peers is what the driver asks of nodes. Each address is a node's gRPC address, as Config.Address tells it.
type Peers interface {
	Seal(ctx context.Context, address string, p ring.Partition, epoch uint64) (floored bool, err error)
	Copy(ctx context.Context, address string, p ring.Partition, sources []string) error
	Install(ctx context.Context, address string, p ring.Partition, epoch uint64, enough int, sources []string) error
}

// Config is what a driver works with. All fields are required; any goroutine may call the functions.
type Config struct {
	// State is what is agreed, and Changed is closed at the next change: it is called before State.
	State   func() *agreed.State
	Changed func() <-chan struct{}
	// Propose has a command applied: on return without an error, State shows it.
	Propose func(ctx context.Context, c agreed.Command) error
	// Peers reaches all nodes, this one too.
	Peers Peers
	// Address is where a member answers gRPC; empty if that is not known.
	Address func(ring.NodeID) string
	// DeadSince is since when a node has not been heard of; false while it is alive.
	DeadSince func(ring.NodeID) (time.Time, bool)
	Logger    *slog.Logger
	// Metrics is where the metrics of this package are registered.
	Metrics prometheus.Registerer
}

// A Driver carries out changes of the table while this node leads: it plans them when members come and go, and moves each
// partition to where it is planned to be, a few at a time. What it knows is forgotten with its leadership; the next leader's
// driver goes on from what is agreed.
//
//	gossip: dead? ─▶┐                                 ┌─▶ Copy, Seal, Install at nodes ──┐
//	state changed ─▶┼─▶ one goroutine: a move.Move ───┤      (calls, some at a time)     ├─▶ back to it
//	time          ─▶┘   for each partition            └─▶ proposals, many partitions ────┘
//	                                                         in one, one at a time
type Driver struct {
	config  Config
	metrics *metrics

	mu       sync.Mutex
	progress map[ring.Partition]move.Phase // of those that are not settled
}

// New makes a driver; Run runs it.
func New(config Config) *Driver {
	return &Driver{config: config, metrics: newMetrics(config.Metrics), progress: map[ring.Partition]move.Phase{}}
}
