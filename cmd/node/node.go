// Package node assembles a node of jeton: storage, actors and every way in, opened in the order in which they need one
// another and closed in reverse. The command "jeton serve" is one call of [Open]; so is a program that embeds a node and
// checks its limits without any network.
//
// The goroutines of a node, and who ends them:
//
//	storage   1 committer               Store.Close, after the actors have stopped
//	          1 while it settles        Store.Close
//	          Pebble's own              Store.Close
//	actor     1 for each shard          System.Close, after the servers have stopped
//	rpc       gRPC's, by connection,    Server.Stop
//	          and its workers
//	http      net/http's, by connection http.Server.Shutdown
//	node      1 for each listener       end with their server
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/storage"
)

var errNoLimitsFile = errors.New("there is no limits file to read again: the node was started without --limits")

// Config says what a node is. Only Data is required.
type Config struct {
	// Data is the directory that keeps the registers; it is made if need be.
	Data string
	// Durability says when a decision counts as kept; empty means storage.Fsync.
	Durability storage.Durability
	// Limits is the path of the limits document; empty means no stored limits, until SetLimits.
	Limits string
	// ListenGRPC and ListenHTTP are addresses such as 127.0.0.1:7700; empty means not to listen.
	ListenGRPC, ListenHTTP string
	// Insecure lets the node listen beyond loopback, although callers are not authenticated.
	Insecure bool
	// Name is the node's name for people to read; empty means the host name.
	Name string
	// Restored says that Data is an older copy of itself: every bucket counts as emptied when the node starts.
	Restored bool
	// Logger receives what happens; nil means slog.Default.
	Logger *slog.Logger
}

// A Node is a running node. It is a [limit.Limiter]: what it is asked directly takes no network.
type Node struct {
	*actor.System

	cfg     Config
	limits  atomic.Pointer[limit.Document]
	metrics *prometheus.Registry
	store   *storage.Store
	grpc    *rpc.Server
	http    *http.Server

	grpcListener, httpListener net.Listener

	running  sync.WaitGroup // this package's goroutines
	stop     sync.Once
	stopping chan struct{} // closed when the node is to stop
	failOnce sync.Once
	failed   chan struct{} // closed when the disk or a listener has failed
	failure  error
}

var _ limit.Limiter = (*Node)(nil)

// Open starts a node: on return it serves. Its errors name the option that is wrong and what would be right.
func Open(cfg Config) (n *Node, err error) {
	n = &Node{cfg: cfg, stopping: make(chan struct{}), failed: make(chan struct{}), metrics: prometheus.NewRegistry()}
	if err := n.cfg.setDefaults(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.abandon())
			n = nil
		}
	}()
	doc, err := readLimits(n.cfg.Limits)
	if err != nil {
		return n, err
	}
	n.limits.Store(doc)
	// The listeners come before the data directory: an address in use must not cost a start of the registers.
	if n.grpcListener, err = n.listen("listen-grpc", cfg.ListenGRPC); err != nil {
		return n, err
	}
	if n.httpListener, err = n.listen("listen-http", cfg.ListenHTTP); err != nil {
		return n, err
	}
	n.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := n.openCore(); err != nil {
		return n, err
	}
	err = n.openServers()
	return n, err
}

func (c *Config) setDefaults() error {
	if c.Data == "" {
		return errors.New("data: name a directory that keeps the registers")
	}
	if c.Durability != "" && c.Durability != storage.Fsync && c.Durability != storage.Memory {
		return fmt.Errorf("durability: %q is not known: use fsync or memory", c.Durability)
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "node"
		}
		c.Name = host
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// openCore opens what decides: the registers, and the actors on top of them.
func (n *Node) openCore() (err error) {
	clk := clock.New()
	n.store, err = storage.Open(storage.Config{
		Dir: n.cfg.Data, Durability: n.cfg.Durability, Restored: n.cfg.Restored,
		Now: clk.Now, Logger: n.cfg.Logger, Metrics: n.metrics,
	})
	if err != nil {
		return err
	}
	n.System, err = actor.New(actor.Config{
		Replicas: []actor.Replica{n.store}, Limits: n.Limits, Now: clk.Now,
		Node: n.cfg.Name, Logger: n.cfg.Logger, Metrics: n.metrics,
	})
	return err
}

// listen opens a listener for the option called name; without an address there is none.
func (n *Node) listen(name, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // no listener is what was asked for
	}
	if err := n.mayListen(address); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use: stop the process that listens there, or give another address", name, address)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", name, address, err)
	}
	return l, nil
}

// mayListen refuses addresses that others can reach, unless that is wanted: nobody who calls is authenticated.
func (n *Node) mayListen(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port, such as 127.0.0.1:7700", address)
	}
	if n.cfg.Insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s can be reached from other machines and callers are not authenticated: "+
			"listen on 127.0.0.1, or say --insecure if the network is trusted", address)
	}
	return nil
}

// GRPCAddr and HTTPAddr are the addresses that the node listens on; empty if it does not.
func (n *Node) GRPCAddr() string { return address(n.grpcListener) }

// HTTPAddr is the address of the JSON API, the metrics and the debug pages.
func (n *Node) HTTPAddr() string { return address(n.httpListener) }

func address(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Failed is closed when the node cannot go on: its disk has failed, or a listener has. Err says how. The node is then to
// be closed.
func (n *Node) Failed() <-chan struct{} { return n.failed }

// Err is why the node has failed.
func (n *Node) Err() error {
	select {
	case <-n.failed:
		return n.failure
	default:
		return nil
	}
}

func (n *Node) fail(err error) {
	n.failOnce.Do(func() {
		n.failure = err
		close(n.failed)
	})
}

// Ready says whether the node takes checks, and if not, why.
func (n *Node) Ready() error {
	select {
	case <-n.stopping:
		return errors.New("the node is stopping")
	default:
		return n.store.Err()
	}
}

// Close stops the node: it is not ready any more at once, what is in flight is answered, then everything is closed in
// the reverse order of Open. When ctx ends, what is still in flight is cut off. With storage.Memory this is what saves
// the registers.
func (n *Node) Close(ctx context.Context) error {
	n.stop.Do(func() { close(n.stopping) })
	var servers sync.WaitGroup
	servers.Go(func() { n.cutOff("gRPC", n.grpc.Stop(ctx)) })
	servers.Go(func() {
		n.cutOff("HTTP", n.http.Shutdown(ctx))
		n.cutOff("HTTP", n.http.Close()) // what Shutdown has given up on
	})
	servers.Wait()
	n.running.Wait()
	n.System.Close()
	return n.store.Close()
}

// cutOff logs that a server could not wait for its callers.
func (n *Node) cutOff(server string, err error) {
	if err != nil {
		n.cfg.Logger.Warn("callers that were not done were cut off", "server", server, "error", err)
	}
}

// abandon closes what Open had opened when something after it went wrong.
func (n *Node) abandon() error {
	var errs []error
	if n.grpc != nil {
		errs = append(errs, n.grpc.Stop(context.Background())) // which has had no calls
	}
	for _, l := range []net.Listener{n.grpcListener, n.httpListener} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	if n.System != nil {
		n.System.Close()
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	return errors.Join(errs...)
}
