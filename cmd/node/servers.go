package node

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/debug"
)

// openServers makes the ways in and starts them on the listeners that there are.
func (n *Node) openServers() (err error) {
	cfg := rpc.Config{Limiter: n, Limits: n.Limits, Key: n.key, Registerer: n.metrics, Logger: n.cfg.Logger}
	pages := debug.Config{Inspector: n, Actors: n.system, Metrics: n.metrics, Ready: n.Ready, Fail: rpc.WriteProblem}
	api := rpc.APIConfig{Limiter: n, Limits: n.Limits, Key: n.key, Registerer: n.metrics, Logger: n.cfg.Logger}
	if m := n.member; m != nil {
		peer := m.peer()
		cfg.Tables, cfg.Cluster, cfg.Peer = m.tables, m.cluster, &peer
		pages.Ring, api.Cluster = m.cluster, m.cluster
	}
	if n.grpc, err = rpc.New(cfg); err != nil {
		return err
	}
	if api.Other, err = debug.New(pages); err != nil {
		return err
	}
	handler, err := rpc.NewAPI(api)
	if err != nil {
		return err
	}
	n.http = rpc.NewHTTPServer(handler, n.cfg.Logger)
	if n.grpcListener != nil {
		n.serve(func() error { return n.grpc.Serve(n.grpcListener) })
	}
	if n.httpListener != nil {
		n.serve(func() error {
			if err := n.http.Serve(n.httpListener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("HTTP on %v: %w", n.httpListener.Addr(), err)
			}
			return nil
		})
	}
	n.running.Go(n.watchStore)
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
