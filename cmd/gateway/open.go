package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	core "github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc/web"
)

// Open starts a gateway: on return its listeners take requests. It does not wait for the cluster; Ready tells when it was
// heard of. The error is everything that is wrong with the document, or says which address cannot be listened on.
func Open(cfg Config) (e *Gateway, err error) {
	cfg.setDefaults()
	found := cfg.look()
	first, err := cfg.make(found, nil)
	if err != nil {
		return nil, err
	}
	e = &Gateway{
		cfg: cfg, metrics: prometheus.NewRegistry(), counts: newMetrics(), opened: time.Now(),
		stopping: make(chan struct{}), doors: door.New(cfg.Logger), following: following{last: found, settled: found},
	}
	e.now.Store(first)
	defer func() {
		if err != nil {
			err = errors.Join(err, e.abandon())
			e = nil
		}
	}()
	e.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	e.metrics.MustRegister(e.counts.collectors()...)
	e.metrics.MustRegister(newExpiry(e.now.Load))
	if e.listeners, err = bound.NewMetrics(e.metrics); err != nil {
		return e, err
	}
	if err := e.openFronts(first); err != nil {
		return e, err
	}
	e.bindFronts(first)
	if err := e.openCore(first); err != nil {
		return e, err
	}
	e.followed(first)
	err = e.openServers(first)
	return e, err
}

// openCore opens what decides: the clients of the clusters, and the gateway on them.
func (e *Gateway) openCore(s *setup) (err error) {
	if err := e.openTracing(s.doc); err != nil {
		return err
	}
	if err := e.openAccessLog(s.doc); err != nil {
		return err
	}
	if err := e.openClusters(s); err != nil {
		return err
	}
	cfg := core.Config{
		Document: s.doc, Logger: e.cfg.Logger, Registerer: e.metrics, AccessLog: e.access, Tracer: e.tracing.Provider(), Now: time.Now,
	}
	e.decide(&cfg)
	if e.gateway, err = core.New(cfg); err != nil {
		return err
	}
	e.closers.Add(func(context.Context) error { e.gateway.Close(); return nil })
	e.startTelling()
	return nil
}

// openServers makes the ways in and starts them on their listeners.
func (e *Gateway) openServers(s *setup) error {
	admin, shown, err := e.adminHandler()
	if err != nil {
		return err
	}
	server := web.NewServer(nil, e.cfg.Logger)
	server.RegisterOnShutdown(shown.Stop) // which waits for requests that end by themselves
	e.admin.prepare(server, web.Counted(admin), e.cfg.Logger)
	foreign, err := e.foreignList(s.doc.Doors)
	if err != nil {
		return err
	}
	e.doors.Start(e.admin) // which is stopped last, so that the gateway can be watched while it stops
	e.doors.Start(append(e.list(s), foreign...)...)
	return nil
}

// list is the doors of clients: those that the document has.
func (e *Gateway) list(s *setup) (doors []door.Door) {
	if e.forwardAuth != nil {
		e.forwardAuth.prepare(forwardAuthServer(), e.gateway.ForwardAuth(), e.cfg.Logger)
		doors = append(doors, e.forwardAuth)
	}
	if e.proxy != nil {
		server := proxyServer(s.doc.Proxy)
		if s.doc.Proxy.TLS != nil {
			server.TLSConfig = e.proxyTLS()
		}
		e.proxy.prepare(server, e.gateway.Proxy(), e.cfg.Logger)
		doors = append(doors, e.proxy)
	}
	return doors
}

// abandonWithin is how long what Open had opened may take to close when something after it went wrong.
const abandonWithin = time.Second

// abandon closes what Open had opened when something after it went wrong.
func (e *Gateway) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonWithin)
	defer cancel()
	return e.Close(ctx)
}
