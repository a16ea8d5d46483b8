package node

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/debug"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/web"
)

// openServers makes the ways in and starts them on the listeners that there are.
func (n *Node) openServers() (err error) {
	cfg := rpc.Config{
		Limiter: n.decides, Limits: n.Limits, Key: n.secrets.key, Certificates: n.secrets.certificates, Tokens: n.secrets.tokens,
		Activity: n.activity, Registerer: n.metrics, Logger: n.cfg.Logger,
	}
	pages := debug.Config{Inspector: n.decides, Actors: n.system, Metrics: n.metrics, Ready: n.readiness, Fail: web.WriteProblem}
	api := web.APIConfig{Limiter: n.decides, Limits: n.Limits, Traces: n.cfg.Tracer != nil, Registerer: n.metrics, Logger: n.cfg.Logger}
	operators := rpc.Operators{Limits: n.Limits, Filler: n.decides}
	if m := n.member; m != nil {
		peer := m.peerService()
		cfg.Tables, cfg.Cluster, cfg.Peer, cfg.Adopted = m.tables, m.cluster, &peer, m.awaitAdopted
		pages.Ring, api.Stored = m.cluster, rpc.StoredLimits{Cluster: m.cluster, Limits: n.Limits, Adopted: m.awaitAdopted}
		operators.Cluster, operators.Adopted = m.cluster, m.awaitAdopted
		api.Resetter = rpc.Resets{Resetter: n.decides, Cluster: m.cluster}
	}
	api.Operator = operators
	services, err := n.openServices()
	if err != nil {
		return err
	}
	cfg.Register = doors.Register(services)
	if n.grpc, err = rpc.New(cfg); err != nil {
		return err
	}
	n.opened.Add(func(context.Context) error { return n.grpc.Stop(context.Background()) }) // where it has no door; else it has stopped
	if api.Other, err = debug.New(pages); err != nil {
		return err
	}
	if n.http, err = n.httpServer(api, services); err != nil {
		return err
	}
	if n.secrets.certificates != nil {
		n.http.TLSConfig = n.secrets.certificates.HTTPS()
	}
	redis, err := n.redisDoor()
	if err != nil {
		return err
	}
	n.doors.Start(append(n.doorList(), redis...)...)
	if len(n.secrets.watched) > 0 {
		n.running.Go(func() { n.secrets.watch(n.stopping) })
	}
	n.running.Go(n.watchStore)
	return nil
}

// httpServer is the server of the console, the doors that speak HTTP, the JSON API and the pages, each before the next, with the guard
// before all of them.
func (n *Node) httpServer(cfg web.APIConfig, services []doors.Service) (*http.Server, error) {
	api, err := web.NewAPI(cfg)
	if err != nil {
		return nil, err
	}
	tokens, err := n.localTokens()
	if err != nil {
		return nil, err
	}
	cookies, err := n.cookies()
	if err != nil {
		return nil, err
	}
	shown, err := n.newConsole(doors.Web(services, api), tokens, cookies)
	if err != nil {
		return nil, err
	}
	guarded, err := web.NewGuard(shown, web.GuardConfig{
		Door: access.NodeHTTP, Beyond: isRemote(n.httpListener), Tokens: tokens.Counts, Name: tokens.Name, Where: tokens.Where(), Cookies: cookies, Registerer: n.metrics,
	})
	server := web.NewServer(guarded, n.cfg.Logger)
	server.RegisterOnShutdown(shown.Stop) // which waits for requests that end by themselves
	return server, err
}

// doorList is the doors of the node: those that it has listeners for.
func (n *Node) doorList() (doors []door.Door) {
	if n.grpcListener != nil {
		doors = append(doors, grpcDoor{n.grpc, n.grpcListener})
	}
	if n.httpListener != nil {
		doors = append(doors, httpDoor{n.http, n.httpListener})
	}
	return doors
}

// A grpcDoor is the gRPC port.
type grpcDoor struct {
	*rpc.Server
	l net.Listener
}

// Name implements door.Door.
func (grpcDoor) Name() string { return "gRPC" }

// Addr implements door.Door.
func (d grpcDoor) Addr() string { return door.Address(d.l) }

// Serve implements door.Door.
func (d grpcDoor) Serve() error { return d.Server.Serve(d.l) }

// An httpDoor is the HTTP port: the JSON API, the metrics and the debug pages.
type httpDoor struct {
	server *http.Server
	l      net.Listener
}

// Name implements door.Door.
func (httpDoor) Name() string { return "HTTP" }

// Addr implements door.Door.
func (d httpDoor) Addr() string { return door.Address(d.l) }

// Serve implements door.Door.
func (d httpDoor) Serve() error { return door.ServeHTTP(d.server, d.l) }

// Stop implements door.Door.
func (d httpDoor) Stop(ctx context.Context) error {
	err := d.server.Shutdown(ctx)
	return errors.Join(err, d.server.Close()) // what Shutdown has given up on
}

// watchStore makes a failure of the disk one of the node.
func (n *Node) watchStore() {
	select {
	case <-n.store.Failed():
		n.fail(n.store.Err())
	case <-n.stopping:
	}
}
