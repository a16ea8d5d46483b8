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
//	edge      a few, of what the       Node.Close: they end with what they ask
//	          program around it holds
//	node      1 for each listener       end with their server
//	          1 that watches the store,
//	          1 for files that change,
//	          2 for the cluster         end when the node stops
package node

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc/doors"
)

// A Node is a running node. It is a [limit.Limiter]: what a node that is alone is asked directly takes no network, and in
// a cluster no more than the key's owner does. The program around it is an edge: by limits that are leased, eventual or local it decides itself.
type Node struct {
	limit.Limiter // the edge, or what decides as long as there is none

	parts
	edge   *edge.Edge
	member *membership // nil for a node that is alone
	stop   sync.Once
}

var _ limit.Limiter = (*Node)(nil)

// First is the address of the node that decides about key while all are well, as Decision.Node has it: empty for this one.
func (n *Node) First(key string) string {
	if n.member == nil {
		return ""
	}
	return n.member.router.First(key)
}

// GRPCAddr and HTTPAddr are the addresses that the node listens on; empty if it does not.
func (n *Node) GRPCAddr() string { return door.Address(n.grpcListener) }

// HTTPAddr is the address of the JSON API, the metrics and the debug pages.
func (n *Node) HTTPAddr() string { return door.Address(n.httpListener) }

// RedisAddr is the address for clients that speak Redis' protocol; empty without one.
func (n *Node) RedisAddr() string { return door.Address(n.redisListener) }

// Metrics are those of the node, for programs around it that show them themselves.
func (n *Node) Metrics() prometheus.Gatherer { return n.metrics }

// Failed is closed when the node cannot go on: its disk has failed, or a listener, or it does not belong to the cluster.
// Err says how. The node is then to be closed.
func (n *Node) Failed() <-chan struct{} { return n.doors.Failed() }

// Err is why the node has failed.
func (n *Node) Err() error { return n.doors.Err() }

// Joined is closed once the node has its cluster: from then on it decides. That of a node that is alone is closed from the start.
func (n *Node) Joined() <-chan struct{} {
	if n.member != nil {
		return n.member.decides
	}
	alone := make(chan struct{})
	close(alone)
	return alone
}

// Ready says whether the node takes checks, and if not, why: it has not joined its cluster, say, or it
// reaches no node that can decide for any key.
func (n *Node) Ready() error {
	_, err := n.readiness()
	return err
}

// readiness is Ready, and what is wrong where some keys can be decided and others cannot, or with the files of a door.
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
		degraded, err = n.member.ready()
	}
	if problems := doors.Problems(n.services); degraded == "" && len(problems) > 0 {
		degraded = strings.Join(problems, "; ")
	}
	return degraded, err
}

// Close stops the node: it is not ready any more at once and leaves the callers' order, what is in flight is answered,
// then everything is closed in the reverse order of Open. When ctx ends, what is still in flight is cut off. With
// storage.Memory this is what saves the registers.
func (n *Node) Close(ctx context.Context) error {
	n.stop.Do(func() {
		close(n.stopping)
		n.edge.Close() // while others can still be told what it gives back
		if n.member != nil {
			n.member.leave(ctx)
		}
	})
	n.doors.Stop(ctx)
	return n.opened.Close(ctx)
}
