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
	n.grpc, err = rpc.New(rpc.Config{Limiter: n, Limits: n.Limits, Registerer: n.metrics, Logger: n.cfg.Logger})
	if err != nil {
		return err
	}
	pages, err := debug.New(debug.Config{
		Inspector: n, Actors: n, Metrics: n.metrics, Ready: n.Ready, Fail: rpc.WriteProblem,
	})
	if err != nil {
		return err
	}
	api, err := rpc.NewAPI(rpc.APIConfig{
		Limiter: n, Limits: n.Limits, Other: pages, Registerer: n.metrics, Logger: n.cfg.Logger,
	})
	if err != nil {
		return err
	}
	n.http = rpc.NewHTTPServer(api, n.cfg.Logger)
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
