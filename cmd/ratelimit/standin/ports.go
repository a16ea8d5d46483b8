package standin

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc/web"
)

// The bounds of each listener. What is behind Envoy comes over few connections.
const (
	connections  = 4096
	memory       = 64 << 20 // bytes of requests that are not answered yet
	unreadWithin = 30 * time.Second
)

// The variables that name the ports.
const (
	grpcPort       = "GRPC_PORT"
	httpPort       = "PORT"
	debugPort      = "DEBUG_PORT"
	prometheusPort = "PROMETHEUS_ADDR"
)

// listen opens the listener of a port, by the variable that names it.
func (s *Service) listen(name, address string) (net.Listener, error) {
	l, err := door.Listen(name, address)
	if err != nil {
		return nil, err
	}
	s.closers.Add(door.CloseListener(l))
	cfg := bound.Config{
		Name: name, Connections: bound.Share{Part: 1, Of: 8, Most: connections}.Connections(bound.Limit()), Memory: memory, Metrics: s.listeners, Logger: s.log,
	}
	if name != grpcPort {
		cfg.Exchanges, cfg.WriteWithin = true, unreadWithin
	}
	return bound.New(l, cfg), nil
}

// A port is a listener with its server.
type port struct {
	name     string
	listener net.Listener
	serve    func(net.Listener) error
	stop     func(context.Context) error
}

// Name implements door.Door: it is the variable that names the port.
func (p *port) Name() string { return p.name }

// Addr implements door.Door; empty for a nil one.
func (p *port) Addr() string {
	if p == nil {
		return ""
	}
	return door.Address(p.listener)
}

// Serve implements door.Door.
func (p *port) Serve() error { return p.serve(p.listener) }

// Stop implements door.Door.
func (p *port) Stop(ctx context.Context) error { return p.stop(ctx) }

// answer has the port answer HTTP.
func (p *port) answer(h http.Handler, log *slog.Logger) {
	server := web.NewServer(h, log)
	p.serve = func(l net.Listener) error { return door.ServeHTTP(server, l) }
	p.stop = func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			server.Close() //nolint:errcheck // it is cut off
		}
		return err
	}
}
