package standin

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
	"github.com/jeton-dev/jeton/storage"
)

// Buckets decide.
type buckets struct {
	limit.Limiter

	close   func(context.Context) error
	failed  <-chan struct{} // nil: they do not fail
	err     func() error
	metrics prometheus.Gatherer // of a node of its own; nil with a cluster
}

// openBuckets opens a client of the cluster, or a node.
func (s *Settings) openBuckets(all *prometheus.Registry, log *slog.Logger) (*buckets, error) {
	if len(s.Cluster) > 0 {
		return s.askCluster(all, log)
	}
	return s.ownNode(log)
}

// maxChecks bounds the checks under way, as in a gateway.
const maxChecks = 1_000_000

func (s *Settings) askCluster(all *prometheus.Registry, log *slog.Logger) (*buckets, error) {
	cfg := client.Config{Servers: s.Cluster, FailFast: true, Connections: 1, MaxMessages: 1, MaxChecks: maxChecks, Registerer: all}
	if s.ClusterTLS != nil {
		var err error
		if cfg.TLS, err = s.ClusterTLS.client(log); err != nil {
			return nil, err
		}
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, err
	}
	cli.RelaxCollector()
	log.Info("the buckets are those of a cluster", "nodes", s.Cluster, "tls", s.ClusterTLS != nil)
	return &buckets{Limiter: c, close: func(context.Context) error { return c.Close() }}, nil
}

func (s *Settings) ownNode(log *slog.Logger) (*buckets, error) {
	cfg := node.Config{Data: s.Data, Durability: storage.Fsync, InlineRegisters: s.Registers, Memory: boundMemory(), Logger: log}
	log.Warn("this process keeps buckets of its own, since JETON_CLUSTER names no cluster: several replicas of it count each for itself, so that clients get their limits several times. " +
		"Run one replica, or a cluster of jeton")
	if s.Data == "" {
		cfg.Data, cfg.Durability, cfg.FS = "buckets", storage.Memory, vfs.NewMem()
		log.Warn("the buckets are in memory: after a restart they are full again. Name a directory that stays in JETON_DATA, or a cluster in JETON_CLUSTER")
	}
	n, err := node.Open(cfg)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "--data", "JETON_DATA")) // which is the option's name here
	}
	return &buckets{Limiter: n, close: n.Close, failed: n.Failed(), err: n.Err, metrics: n.Metrics()}, nil
}

// memoryShare is how much of the memory of its control group or machine a node of its own takes.
const memoryShare = 0.75

// boundMemory has the collector keep the process below its share, unless GOMEMLIMIT says otherwise, and is the bound; 0 for none.
func boundMemory() int64 {
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		if bytes := debug.SetMemoryLimit(-1); bytes != math.MaxInt64 {
			return bytes
		}
		return 0
	}
	there, err := memlimit.FromCgroup()
	if err != nil {
		if there, err = memlimit.FromSystem(); err != nil {
			return 0
		}
	}
	bytes := int64(memoryShare * float64(min(there, math.MaxInt64/2)))
	debug.SetMemoryLimit(bytes)
	return bytes
}

// probeWithin is how long a probe may take.
const probeWithin = time.Second

// probe says whether the buckets can be asked: it looks at one that nothing else uses.
func (b *buckets) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	one, err := descriptors.Numbers{Requests: 1, Unit: descriptors.Second}.Limit()
	if err != nil {
		return err
	}
	_, err = b.Check(ctx, limit.Request{Key: "|health", Limits: []limit.Ref{limit.Inline(one)}, Look: true})
	return err
}
