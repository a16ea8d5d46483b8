package node

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/debug"
	"github.com/jeton-dev/jeton/rpc/web"
)

// openServers makes the ways in and starts them on the listeners that there are.
func (n *Node) openServers() (err error) {
	cfg := rpc.Config{
		Limiter: n.Limiter, Limits: n.Limits, Key: n.secrets.key, Certificates: n.secrets.certificates, Tokens: n.secrets.tokens,
		Registerer: n.metrics, Logger: n.cfg.Logger,
	}
	pages := debug.Config{Inspector: n, Actors: n.system, Metrics: n.metrics, Ready: n.readiness, Fail: web.WriteProblem}
	api := web.APIConfig{Limiter: n, Limits: n.Limits, Registerer: n.metrics, Logger: n.cfg.Logger}
	if m := n.member; m != nil {
		peer := m.peer()
		cfg.Tables, cfg.Cluster, cfg.Peer = m.tables, m.cluster, &peer
		pages.Ring, api.Stored = m.cluster, rpc.StoredLimits{Cluster: m.cluster}
	}
	if n.grpc, err = rpc.New(cfg); err != nil {
		return err
	}
	if api.Other, err = debug.New(pages); err != nil {
		return err
	}
	if n.http, err = n.httpServer(api); err != nil {
		return err
	}
	if n.secrets.certificates != nil {
		n.http.TLSConfig = n.secrets.certificates.HTTPS()
	}
	if n.grpcListener != nil {
		n.serve(func() error { return n.grpc.Serve(n.grpcListener) })
	}
	if n.httpListener != nil {
		n.serve(n.serveHTTP)
	}
	if len(n.secrets.kept) > 0 {
		n.running.Go(func() { n.secrets.watch(n.stopping) })
	}
	n.running.Go(n.watchStore)
	return nil
}

// httpServer is the server of the JSON API and the pages behind it, with the guard before both.
func (n *Node) httpServer(cfg web.APIConfig) (*http.Server, error) {
	api, err := web.NewAPI(cfg)
	if err != nil {
		return nil, err
	}
	tokens, err := n.localTokens()
	if err != nil {
		return nil, err
	}
	guarded, err := web.NewGuard(api, web.GuardConfig{
		Door: access.NodeHTTP, Beyond: beyond(n.httpListener), Tokens: tokens.Counts, Where: tokens.Where(), Registerer: n.metrics,
	})
	return web.NewServer(guarded, n.cfg.Logger), err
}

// serveHTTP answers over HTTP, or over HTTPS if there are certificates.
func (n *Node) serveHTTP() error {
	serve := n.http.Serve
	if n.http.TLSConfig != nil {
		serve = func(l net.Listener) error { return n.http.ServeTLS(l, "", "") }
	}
	if err := serve(n.httpListener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("HTTP on %v: %w", n.httpListener.Addr(), err)
	}
	return nil
}

// serve runs a server until it is stopped; if it ends before, the node has failed.
func (n *Node) serve(server func() error) {
	n.running.Go(func() {
		if err := server(); err != nil {
			n.fail(err)
		}
	})
}

// watchStore makes a failure of the disk one of the node.
func (n *Node) watchStore() {
	select {
	case <-n.store.Failed():
		n.fail(n.store.Err())
	case <-n.stopping:
	}
}
