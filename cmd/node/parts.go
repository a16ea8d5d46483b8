package node

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/storage"
)

// parts are what every node is made of, alone or in a cluster. They know nothing of its membership, which uses them.
type parts struct {
	cfg        Config
	secrets    secrets
	limits     atomic.Pointer[limit.Document]
	fileLimits *limit.Document // what the limits file said at the start; nil if it is wrong
	metrics    *prometheus.Registry

	listeners *bound.Metrics
	clock     *clock.Clock
	store     *storage.Store
	system    *actor.System
	activity  *activity.Source
	disk      diskGauge
	decides   *rpc.Observed // by the Router in a cluster, else by the System
	grpc      *rpc.Server
	http      *http.Server

	grpcListener, httpListener, redisListener net.Listener
	services                                  []doors.Service // that the gRPC port answers besides

	doors    *door.Doors    // the ways in
	opened   door.Closers   // everything else
	running  sync.WaitGroup // this package's goroutines
	besides  besides        // those of the edge
	stopping chan struct{}  // closed when the node is to stop
}

// fail notes why the node cannot go on.
func (n *parts) fail(err error) { n.doors.Fail(err) }
