// Package node assembles a node of jeton: storage, actors, membership and every way in, opened in the order in which they
// need one another and closed in reverse. The command "jeton serve" is one call of [Open]; so is a program that embeds a
// node and checks its limits without any network.
//
// The goroutines of a node, and who ends them:
//
//	storage   1 committer               Store.Close, after the actors have stopped
//	          1 while it settles        Store.Close
//	          Pebble's own              Store.Close
//	actor     1 for each shard          System.Close, after the servers have stopped
//	cluster   gossip's, raft's, 1 that  end of Run, after the servers have stopped
//	          drives moves, and others
//	rpc       gRPC's, by connection,    Server.Stop
//	          and its workers, and
//	          1 that refuses plain text
//	          2 for each peer, and its  Peers.Close, after the actors have stopped
//	          connections
//	          a client's, by node       Client.Close
//	http      net/http's, by connection http.Server.Shutdown
//	node      1 for each listener       end with their server
//	          1 that watches the store,
//	          1 for files that change,
//	          2 for the cluster         end when the node stops
package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/storage"
)

// A Node is a running node. It is a [limit.Limiter]: what a node that is alone is asked directly takes no network, and in
// a cluster no more than the key's owner does.
type Node struct {
	limit.Limiter // the Router in a cluster, else the System

	cfg     Config
	secrets secrets
	limits  atomic.Pointer[limit.Document]
	metrics *prometheus.Registry

	listeners *bound.Metrics
	clock     *clock.Clock
	store     *storage.Store
	system    *actor.System
	member    *membership // nil for a node that is alone
	grpc      *rpc.Server
	http      *http.Server

	grpcListener, httpListener net.Listener

	doors    *door.Doors    // the ways in
	opened   door.Closers   // everything else
	running  sync.WaitGroup // this package's goroutines
	stop     sync.Once
	stopping chan struct{} // closed when the node is to stop
}

var _ limit.Limiter = (*Node)(nil)

// Open starts a node: on return its servers run. A node that is alone or founds a cluster by itself is ready then; one
// that waits for others becomes so, as Ready tells. Open's errors name the option that is wrong and what would be right.
func Open(cfg Config) (n *Node, err error) {
	n = &Node{
		cfg: cfg, clock: clock.New(), metrics: prometheus.NewRegistry(),
		stopping: make(chan struct{}),
	}
	if err := n.cfg.setDefaults(); err != nil {
		return nil, err
	}
	n.doors = door.New(n.cfg.Logger)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.abandon())
			n = nil
		}
	}()
	if n.listeners, err = bound.NewMetrics(n.metrics); err != nil {
		return n, err
	}
	if err := n.secrets.read(&n.cfg, n.metrics); err != nil {
		return n, err
	}
	doc, err := readLimits(n.cfg.Limits)
	if err != nil {
		return n, err
	}
	n.limits.Store(doc)
	// The listeners come before the data directory: an address in use must not cost a start of the registers.
	if err := n.openListeners(); err != nil {
		return n, err
	}
	n.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := n.openCore(); err != nil {
		return n, err
	}
	if err := n.openServers(); err != nil {
		return n, err
	}
	if n.member != nil {
		err = n.member.start()
	}
	return n, err
}

func (n *Node) openListeners() (err error) {
	if n.grpcListener, err = n.listen(grpcOption, n.cfg.ListenGRPC); err != nil {
		return err
	}
	if n.httpListener, err = n.listen(httpOption, n.cfg.ListenHTTP); err != nil {
		return err
	}
	for name, address := range map[string]string{gossipOption: n.cfg.ListenGossip, raftOption: n.cfg.ListenRaft} {
		if address == "" {
			continue
		}
		if err := n.checkListen(name, address); err != nil { // the cluster listens there itself
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// openCore opens what decides: the registers, the other nodes' registers if there are any, and the actors on top.
func (n *Node) openCore() (err error) {
	n.addCoreClosers()
	cfg := storage.Config{
		Dir: n.cfg.Data, FS: n.cfg.FS, Durability: n.cfg.Durability, Restored: n.cfg.Restored,
		Inline: n.cfg.InlineRegisters, Partitions: n.cfg.partitions, Now: n.clock.Now, Memory: n.cfg.storageMemory(), Logger: n.cfg.Logger, Metrics: n.metrics,
	}
	if n.cfg.FS == vfs.Default {
		if err := keepPrivate(n.cfg.Data, n.cfg.Logger); err != nil {
			return err
		}
	}
	if !n.cfg.alone() {
		return n.openMember(cfg)
	}
	// A member that is started alone would decide for itself what its cluster decides together.
	if _, err := n.cfg.FS.Stat(clusterDir(n.cfg.Data)); err == nil {
		return fmt.Errorf("data: %s belongs to a node of a cluster: give --listen-gossip and --listen-raft, or another directory", n.cfg.Data)
	}
	if n.store, err = storage.Open(cfg); err != nil {
		return err
	}
	if err := n.store.Found(context.Background()); err != nil {
		return err
	}
	n.system, err = actor.New(actor.Config{
		Replicas: []actor.Replica{n.store}, Partitions: n.cfg.partitions, Limits: n.Limits, Now: n.clock.Now,
		InlineFill: n.cfg.InlineFill, Memory: n.cfg.actorMemory(), Full: n.store.Full,
		Node: n.cfg.Name, Logger: n.cfg.Logger, Metrics: n.metrics,
	})
	n.Limiter = n.system
	return err
}

// addCoreClosers has what openCore opens closed with the node, as far as it has come.
func (n *Node) addCoreClosers() {
	n.opened.Add(func(context.Context) error {
		if n.store == nil {
			return nil
		}
		return n.store.Close()
	})
	n.opened.Add(func(context.Context) error {
		if n.member == nil {
			return nil
		}
		return n.member.close()
	})
	n.opened.Add(func(context.Context) error {
		if n.system != nil {
			n.system.Close()
		}
		return nil
	})
	n.opened.Add(func(context.Context) error {
		if n.member != nil {
			n.member.end()
		}
		n.running.Wait()
		return nil
	})
}

// GRPCAddr and HTTPAddr are the addresses that the node listens on; empty if it does not.
func (n *Node) GRPCAddr() string { return door.Address(n.grpcListener) }

// HTTPAddr is the address of the JSON API, the metrics and the debug pages.
func (n *Node) HTTPAddr() string { return door.Address(n.httpListener) }

// Failed is closed when the node cannot go on: its disk has failed, or a listener, or it does not belong to the cluster.
// Err says how. The node is then to be closed.
func (n *Node) Failed() <-chan struct{} { return n.doors.Failed() }

// Err is why the node has failed.
func (n *Node) Err() error { return n.doors.Err() }

func (n *Node) fail(err error) { n.doors.Fail(err) }

// Ready says whether the node takes checks, and if not, why: it has not joined its cluster, say, or for no key there is
// anybody that it can reach who can decide.
func (n *Node) Ready() error {
	_, err := n.readiness()
	return err
}

// readiness is Ready, and what is wrong where some keys can be decided and others cannot.
func (n *Node) readiness() (degraded string, err error) {
	select {
	case <-n.stopping:
		return "", errors.New("the node is stopping")
	default:
	}
	if err := errors.Join(n.store.Err(), n.doors.Err()); err != nil {
		return "", err
	}
	if n.member != nil {
		return n.member.ready()
	}
	return "", nil
}

// Close stops the node: it is not ready any more at once and leaves the callers' order, what is in flight is answered,
// then everything is closed in the reverse order of Open. When ctx ends, what is still in flight is cut off. With
// storage.Memory this is what saves the registers.
func (n *Node) Close(ctx context.Context) error {
	n.stop.Do(func() {
		close(n.stopping)
		if n.member != nil {
			n.member.leave(ctx)
		}
	})
	n.doors.Stop(ctx)
	return n.opened.Close(ctx)
}

// abandonWithin is how long callers have to be answered when Open has failed.
const abandonWithin = time.Second

// abandon closes what Open had opened when something after it went wrong.
func (n *Node) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonWithin)
	defer cancel()
	n.stop.Do(func() { close(n.stopping) })
	n.doors.Stop(ctx)
	return n.opened.Close(ctx)
}
