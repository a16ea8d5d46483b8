package rpc

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/peers"
	"github.com/jeton-dev/jeton/rpc/transport"
)

const (
	// workers is how many goroutines answer calls one after the other, so that a call need not grow a stack of its own.
	// While all of them are taken, by streams or by checks that wait for an fsync, every further call gets a goroutine.
	workers = 64
)

// Config says what a [Server] is made of.
type Config struct {
	// Limiter decides; nil leaves jeton.v1.Limiter out. One that is an [*Observed] is told of the spans that callers name. Required without Register.
	Limiter limit.Limiter
	// Register registers further services, whose methods stand in the table of rpc/access; nil for none.
	Register func(grpc.ServiceRegistrar)
	// Limits are the stored limits as they are now; nil leaves jeton.v1.Admin out.
	Limits func() *limit.Document
	// Key is the cluster key: what the table of rpc/access says that it takes the key is only for callers that prove that they
	// have it. Without a key, every caller may do it, unless there are Certificates: then none may.
	Key *key.Key
	// Certificates are required of callers without the cluster key, and plain text is refused. Nil takes plain text.
	Certificates *credentials.Certificates
	// Tokens are what operators without the cluster key show: see rpc/access. Nil leaves only the key.
	Tokens *credentials.Tokens
	// Peer is what other nodes are answered with, but for Panics; nil leaves jeton.v1.Peer out.
	Peer *peers.ServiceConfig
	// Tables tells where keys live; nil leaves jeton.v1.Cluster out.
	Tables Tables
	// Cluster is what jeton.v1.Admin shows and changes; nil for a node that is alone.
	Cluster *cluster.Cluster
	// Adopted waits until the node itself goes by the Cluster's state of a version, or until ctx ends: what an operator is told is in
	// force then counts for the next check here. Nil does not wait.
	Adopted func(ctx context.Context, version uint64)
	// Activity tells what the nodes of the cluster, or the one that is alone, are doing, and keeps what gateways tell. Nil: that is not told.
	Activity *activity.Source
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Bounds are those of listeners that have none yet: of what strangers can make the Server hold. A zero value bounds single
	// calls, and the time of messages.
	Bounds bound.Config
	// Logger gets faults of the node, never those of callers; nil discards them.
	Logger *slog.Logger
}

// New makes a Server, which is to be stopped even if it never serves. The error says what is missing in cfg, or why the
// metrics cannot be registered.
func New(cfg Config) (*Server, error) {
	if cfg.Limiter == nil && cfg.Register == nil {
		return nil, errors.New("rpc: Limiter or Register is required")
	}
	s := &Server{
		resets:   Resets{cfg.Limiter, cfg.Cluster},
		log:      logger(cfg.Logger),
		metrics:  newServerMetrics(),
		health:   health.NewServer(),
		bounds:   cfg.Bounds,
		maxTimes: map[string]time.Duration{},
		stopping: make(chan struct{}),
	}
	if err := s.observe(cfg.Limiter); err != nil {
		return nil, err
	}
	if err := metrics.Register(cfg.Registerer, s.metrics.collectors()...); err != nil {
		return nil, err
	}
	if cfg.Peer != nil {
		peer := *cfg.Peer
		peer.Panics = s.metrics.panics
		var err error
		if s.peer, err = peers.NewService(peer); err != nil {
			return nil, err
		}
	}
	port, err := credentials.NewPort(credentials.PortConfig{Key: cfg.Key, Certificates: cfg.Certificates, Registerer: cfg.Registerer})
	if err != nil {
		return nil, err
	}
	s.port = port
	s.grpc = s.transport()
	if err := s.registerServices(cfg); err != nil {
		return nil, err
	}
	for service := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
	}
	return s, nil
}

// observe has what the Server is asked decided by l, and observed: by l itself, if it does that already.
func (s *Server) observe(l limit.Limiter) (err error) {
	o, already := l.(*Observed)
	if !already {
		o, err = NewObserved(ObservedConfig{Limiter: l})
	}
	s.limiter = o
	return err
}

// registerServices registers every service with its guard.
func (s *Server) registerServices(cfg Config) error {
	refused := func(method string, err error) { s.metrics.observe(method, err, time.Now(), nil) }
	guard := &credentials.Guard{Server: s.grpc, Tokens: cfg.Tokens, Refused: refused, Port: access.Port{
		Key: cfg.Key != nil, Certificates: cfg.Certificates != nil, Tokens: cfg.Tokens != nil, Peers: cfg.Peer != nil,
	}}
	if cfg.Limiter != nil {
		guard.RegisterService(s.description(), s)
	}
	if cfg.Register != nil {
		cfg.Register(guard)
	}
	if cfg.Limits != nil {
		pb.RegisterAdminServer(guard, admin{
			limits: cfg.Limits, filler: cfg.Limiter, cluster: cfg.Cluster, adopted: cfg.Adopted, activity: cfg.Activity, files: make(turns, 1),
		})
	}
	if cfg.Tables != nil || cfg.Activity != nil {
		pb.RegisterClusterServer(guard, &clusterService{tables: cfg.Tables, activity: cfg.Activity})
	}
	if cfg.Peer != nil {
		guard.RegisterService(s.withMaxTime(s.peer.Description(), peers.TransferWithin), s.peer)
	}
	healthpb.RegisterHealthServer(guard, s.health)
	reflection.Register(guard)
	s.timeCalls()
	return guard.Check()
}

// timeCalls notes how long every call without a stream may take.
func (s *Server) timeCalls() {
	for service, info := range s.grpc.GetServiceInfo() {
		within := maxTime
		if service == pb.Peer_ServiceDesc.ServiceName {
			within = peers.TransferWithin
		}
		for _, m := range info.Methods {
			if !m.IsClientStream && !m.IsServerStream {
				s.maxTimes["/"+service+"/"+m.Name] = within
			}
		}
	}
}

// begin gives a call its deadline when its headers have come: its message is to come before that too.
func (s *Server) begin(ctx context.Context, info *tap.Info) (context.Context, error) {
	if within, ok := s.maxTimes[info.FullMethodName]; ok {
		timed, cancel := timedAtMost(ctx, within)
		_ = cancel // ctx ends with the call, and so does what is made of it
		return timed, nil
	}
	return ctx, nil
}

// transport is what grpc needs to know of connections and calls.
func (s *Server) transport() *grpc.Server {
	return grpc.NewServer(append(transport.ServerOptions(),
		grpc.Creds(s.port),
		grpc.ConnectionTimeout(credentials.HandshakeWithin),
		grpc.InTapHandle(s.begin),
		grpc.NumStreamWorkers(workers),
		grpc.UnaryInterceptor(s.intercept),
		grpc.ChainStreamInterceptor(s.recoverStream, transport.BoundStreams(&s.readers, s.metrics.panics), s.endWatches),
	)...)
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
