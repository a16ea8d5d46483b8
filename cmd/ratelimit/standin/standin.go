// Package standin stands in for envoyproxy/ratelimit in its image: it reads the environment variables of that service, takes its files or what an xDS server sends, opens its ports, and
// decides by jeton's buckets, which are those of a cluster, or of a node of its own.
//
//	Read   the environment ─▶ Settings, or everything that is wrong
//	Open   listeners ─▶ buckets ─▶ rules ─▶ servers
//
// What would change decisions silently is an error of [Read]; what has no meaning here is listed in Settings.Unused. Start with [Read] and [Open].
//
// The goroutines, and what ends them:
//
//	buckets   a client's, or a node's        their Close, after the servers have stopped
//	rules     1 that follows the files, or   Service.Close, likewise
//	          the xDS server, and gRPC's
//	health    1                              Service.Close
//	servers   1 for each listener, and those of their connections: Service.Close
package standin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// A Service is a running stand-in.
type Service struct {
	settings *Settings
	log      *slog.Logger

	metrics   *prometheus.Registry
	listeners *bound.Metrics
	buckets   *buckets
	rules     *rls.Door
	grpc      *doors.Server
	ports     []*port

	unasked atomic.Pointer[string] // why the buckets could not be asked yet; nil once they could

	doors    *door.Doors
	closers  door.Closers
	life     context.Context //nolint:containedctx // of the goroutines of running
	end      context.CancelFunc
	running  sync.WaitGroup
	stop     sync.Once
	stopping chan struct{}
}

// Open starts a Service: on return its ports take calls. The error names the variable that is wrong, or the address that cannot be listened on.
func Open(settings *Settings, log *slog.Logger) (s *Service, err error) {
	s = &Service{settings: settings, log: log, metrics: prometheus.NewRegistry(), doors: door.New(log), stopping: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	says := "it has not been tried"
	s.unasked.Store(&says)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.abandon())
			s = nil
		}
	}()
	if s.listeners, err = bound.NewMetrics(s.apart()); err != nil {
		return s, err
	}
	for _, one := range settings.Unused {
		log.Warn("variables of envoyproxy/ratelimit have no meaning here", "variables", one.Variables, "instead", one.Instead)
	}
	err = s.open()
	return s, err
}

// apart is where metrics go that a node of its own has too.
func (s *Service) apart() prometheus.Registerer {
	if len(s.settings.Cluster) > 0 {
		return s.metrics
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{"part": "ratelimit"}, s.metrics)
}

// abandonWithin is how long what Open had opened may take to close when something after it went wrong.
const abandonWithin = time.Second

func (s *Service) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonWithin)
	defer cancel()
	return s.Close(ctx)
}

// open opens everything, in the order in which it is needed.
func (s *Service) open() (err error) {
	list := []struct{ name, address string }{{httpPort, s.settings.HTTP}, {grpcPort, s.settings.GRPC}, {debugPort, s.settings.Debug}, {prometheusPort, s.settings.Prometheus}}
	for _, one := range list {
		if one.address == "" {
			continue
		}
		l, err := s.listen(one.name, one.address)
		if err != nil {
			return err
		}
		s.ports = append(s.ports, &port{name: one.name, listener: l})
	}
	if s.settings.TLS != nil {
		if _, err := s.settings.server(s.log); err != nil {
			return err
		}
	}
	if s.buckets, err = s.settings.openBuckets(s.metrics, s.log); err != nil {
		return fmt.Errorf("buckets: %w", err)
	}
	s.closers.Add(s.buckets.close)
	if s.buckets.metrics == nil {
		s.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if s.rules, err = s.settings.openRules(s.buckets, s.metrics, s.log); err != nil {
		return err
	}
	s.closers.Add(func(context.Context) error {
		s.end()
		s.running.Wait()
		return nil
	})
	if err := s.openServers(); err != nil {
		return err
	}
	s.running.Go(func() { s.rules.Run(s.life) })
	s.running.Go(func() { s.watch(s.life) })
	if s.buckets.failed != nil {
		s.running.Go(s.watchBuckets)
	}
	return nil
}

// openServers makes the servers, and starts them on their listeners. Those for people and machines that watch stop last.
func (s *Service) openServers() (err error) {
	cfg := doors.ServerConfig{Services: []doors.Service{s.rules}, Registerer: s.apart(), Logger: s.log}
	if s.settings.TLS != nil {
		cfg.TLS = func() (*tls.Config, error) { return s.settings.server(s.log) }
	}
	if s.grpc, err = doors.NewServer(cfg); err != nil {
		return err
	}
	for _, name := range []string{"", healthService, rlsService} {
		s.grpc.SetServing(name, false)
	}
	var callers, watchers []door.Door
	for _, p := range s.ports {
		switch p.name {
		case grpcPort:
			p.serve, p.stop = s.grpc.Serve, s.grpc.Stop
			callers = append(callers, p)
		case httpPort:
			p.answer(s.front(), s.log)
			callers = append(callers, p)
		case debugPort:
			p.answer(s.debug(), s.log)
			watchers = append(watchers, p)
		default:
			p.answer(s.scraped(s.settings.PrometheusPath), s.log)
			watchers = append(watchers, p)
		}
	}
	s.doors.Start(watchers...)
	s.doors.Start(callers...)
	return nil
}

// watchBuckets has the service fail with its own node.
func (s *Service) watchBuckets() {
	select {
	case <-s.life.Done():
	case <-s.buckets.failed:
		s.doors.Fail(fmt.Errorf("buckets: %w", s.buckets.err()))
	}
}

// addr is the address of a port, by its variable; empty if it is not open.
func (s *Service) addr(name string) string {
	for _, p := range s.ports {
		if p.name == name {
			return p.Addr()
		}
	}
	return ""
}

// GRPCAddr is where Envoy calls, HTTPAddr where /json and /healthcheck are, and DebugAddr where /rlconfig and /metrics are.
func (s *Service) GRPCAddr() string { return s.addr(grpcPort) }

// HTTPAddr is where /json and /healthcheck are.
func (s *Service) HTTPAddr() string { return s.addr(httpPort) }

// DebugAddr is where /rlconfig and /metrics are.
func (s *Service) DebugAddr() string { return s.addr(debugPort) }

// PrometheusAddr is where the metrics are too; empty for nowhere else.
func (s *Service) PrometheusAddr() string { return s.addr(prometheusPort) }

// Failed is closed when the Service cannot go on; Err says how. It is then to be closed.
func (s *Service) Failed() <-chan struct{} { return s.doors.Failed() }

// Err is why the Service has failed.
func (s *Service) Err() error { return s.doors.Err() }

// Close stops the Service: it is not healthy any more at once, and answers what is under way until ctx ends.
func (s *Service) Close(ctx context.Context) error {
	s.stop.Do(func() { close(s.stopping) })
	s.doors.Stop(ctx)
	s.end()
	return s.closers.Close(ctx)
}
