package node

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/internal/build"
	"github.com/jeton-dev/jeton/internal/speaks"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/peers"
	"github.com/jeton-dev/jeton/storage"
)

const (
	// leaveFor is how long a node that stops goes on answering after it has announced that, so that the announcement reaches its
	// callers.
	leaveFor = 250 * time.Millisecond
	// aloneWithin is how long a node that founds a cluster by itself may take until it is ready.
	aloneWithin = 30 * time.Second
)

// ErrOldCopy says that the data directory is an older copy of itself. Renew makes it one of a new node.
var ErrOldCopy = cluster.ErrOldCopy

// GossipAddr is the address at which other nodes find this one; empty for a node that is alone.
func (n *Node) GossipAddr() string {
	if n.member == nil {
		return ""
	}
	return n.member.cluster.GossipAddress()
}

// A membership is a node's part in a cluster: it makes storage, actors and clients follow what the cluster has agreed on.
//
//	cluster.State ─▶ follow ─▶ storage: epochs entered, partitions dropped
//	                       ├─▶ placements, for the actors
//	                       ├─▶ the table, for callers and the node's own client
//	                       └─▶ the limits in force
type membership struct {
	node    *parts
	id      ring.NodeID
	cluster *cluster.Cluster
	peers   *peers.Client
	router  *rpc.Router
	gate    *gate
	marks   chan agreed.Mark

	placements atomic.Pointer[placements]
	view       atomic.Pointer[view]
	read       atomic.Pointer[versioned] // the limits by which overrides were last looked at; nil before
	joinedAt   atomic.Int64              // when this node began to decide, on the node clock; 0 before
	decides    chan struct{}             // closed then

	cancel context.CancelFunc // ends Run, and what follows the state

	installed chan struct{} // holds a token when a partition was installed, whose epoch may have begun before

	level atomic.Int32 // that the disk is of; 0 before there was a state. Only adoptLevel raises it

	// Follow's own.
	limitsVersion uint64                    // of those in force
	overrides     *agreed.Overrides         // likewise
	earlier       map[string]agreed.Earlier // likewise
	adopted       atomic.Pointer[adoption]
	compared      bool // this node's clock was compared with the others', so that a floor can be set by them
}

// openMember opens the registers of a node in a cluster, its connections to the others, and the actors on top.
func (n *Node) openMember(cfg storage.Config) (err error) {
	m := &membership{
		node: &n.parts, marks: make(chan agreed.Mark, 1), decides: make(chan struct{}), installed: make(chan struct{}, 1),
	}
	m.placements.Store(&placements{})
	m.adopted.Store(&adoption{changed: make(chan struct{})})
	m.view.Store(&view{changed: make(chan struct{})})
	cfg.MaySweep = func() bool { return m.joinedAt.Load() != 0 && m.cluster.ClockAgrees() }
	cfg.OnMark = m.forwardMark
	if n.store, err = storage.Open(cfg); err != nil {
		return err
	}
	m.id, m.gate = n.store.Disk(), &gate{store: n.store, installed: m.installed}
	n.member = m
	if err := m.join(); err != nil {
		return err
	}
	n.system, err = actor.New(actor.Config{
		Placement: m.placement, Serving: m.serving, Limits: n.Limits, Now: n.clock.Now, Ahead: n.clock.Ahead, Partitions: n.cfg.partitions,
		LedgersInTokens: func() bool { return m.level.Load() < level.LedgersInTime },
		InlineFill:      n.cfg.InlineFill, Memory: n.cfg.actorMemory(), Full: n.store.Full, Node: n.cfg.Name,
		Logger: n.cfg.Logger, Metrics: n.metrics, ShowHotKeys: n.cfg.ShowHotKeys,
	})
	if err != nil {
		return err
	}
	var secure *tls.Config
	if n.secrets.key != nil {
		secure = n.secrets.key.TLS()
	}
	m.router, err = rpc.NewRouter(rpc.RouterConfig{
		Self: m.id, Local: n.system, Tables: m.tables, Serving: m.serving, TLS: secure, Registerer: n.metrics, Tracer: n.cfg.Tracer,
	})
	if err != nil {
		return err
	}
	return n.observe(m.router)
}

// join makes this node's part in the cluster, which begins with begin.
func (m *membership) join() (err error) {
	n := m.node
	grpc, err := n.advertised(n.grpcListener)
	if err != nil {
		return err
	}
	http, err := n.advertised(n.httpListener)
	if err != nil {
		return err
	}
	m.peers, err = peers.NewClient(peers.ClientConfig{
		ID: m.id, Address: grpc, Key: n.secrets.key, Now: n.clock.Now, Registerer: n.metrics, Logger: n.cfg.Logger,
		LedgerMemory: n.cfg.ledgerMemory(),
	})
	if err != nil {
		return err
	}
	seed, err := n.limits.Load().YAML()
	if err != nil {
		return err
	}
	m.cluster, err = cluster.New(cluster.Config{
		Dir: clusterDir(n.cfg.Data), FS: n.cfg.FS, OpenRaft: n.cfg.OpenRaft, ID: m.id, Name: n.cfg.Name, Zone: n.cfg.Zone,
		GRPC: grpc, HTTP: http, BindGossip: n.cfg.ListenGossip, BindRaft: n.cfg.ListenRaft, AdvertiseHost: n.cfg.Advertise,
		Join: n.cfg.Join, Expect: n.cfg.Expect, Key: n.secrets.key, Partitions: n.cfg.partitions, Replicas: n.cfg.Replicas, Limits: seed, Holds: m.holds(),
		Mark: agreed.Mark(n.store.Mark()), MarkBefore: agreed.Mark(n.store.MarkBefore()), NewMarks: m.marks,
		Confirm: n.store.Confirm,
		Peers:   m.peers, Now: n.clock.Now, Advance: func(by int64) { n.clock.Advance(n.clock.Now() + by) },
		GossipBounds: n.bounds(gossipOption), RaftBounds: n.bounds(raftOption), Listeners: n.listeners,
		Refuses: m.refuses, Stalled: m.stalled, Speaks: protocolAt, Epochs: m.epochs, End: n.store.End, Check: checkLimits, AdoptLevel: m.adoptLevel, Reaches: reaches, Reach: m.reach, Used: m.used, Tell: m.tell,
		Release: build.This().Version, Logger: n.cfg.Logger, Metrics: n.metrics,
	})
	return err
}

// peerService is what other nodes are answered with.
func (m *membership) peerService() peers.ServiceConfig {
	address, _ := m.node.advertised(m.node.grpcListener) // which join has found to be one
	return peers.ServiceConfig{Store: m.node.tracedGate(m.gate), Handle: m.cluster.Handle, Address: address, Now: m.node.clock.Now, Client: m.peers}
}

// forwardMark hands on the newest mark.
func (m *membership) forwardMark(mark storage.Mark) {
	select {
	case <-m.marks: // an older one
	default:
	}
	m.marks <- agreed.Mark(mark)
}

// start takes part in the cluster. A node that needs no other node for that is ready on return.
func (m *membership) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	n := m.node
	n.running.Go(func() {
		if err := m.cluster.Run(ctx); err != nil {
			n.fail(err)
		}
	})
	n.running.Go(func() { m.follow(ctx) })
	if len(n.cfg.Join) > 0 || len(gossip.Addresses(n.cfg.FS, clusterDir(n.cfg.Data))) > 1 { // the others may come later
		return nil
	}
	soon, done := context.WithTimeout(ctx, aloneWithin)
	defer done()
	return m.waitUntilDeciding(soon)
}

// waitUntilDeciding waits until the node decides.
func (m *membership) waitUntilDeciding(ctx context.Context) error {
	select {
	case <-m.decides:
		return nil
	case <-m.node.doors.Failed():
		return m.node.doors.Err()
	case <-ctx.Done():
		return fmt.Errorf("the cluster did not come up within %v", aloneWithin)
	}
}

// placement is where a partition is now; nil if it is not kept here.
func (m *membership) placement(p ring.Partition) *actor.Placement {
	if of := m.placements.Load().of; int(p) < len(of) {
		return of[p]
	}
	return nil
}

// protocolAt is what an address speaks that is not one of gossip; empty where it may be.
func protocolAt(ctx context.Context, address string) string {
	switch p := speaks.At(ctx, address); p {
	case speaks.GRPC, speaks.HTTP, speaks.HTTPS, speaks.TLS:
		return string(p)
	case speaks.Nothing, speaks.Other, speaks.Silent:
	}
	return ""
}

// tell answers what another node's Source asks.
func (m *membership) tell(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	if m.joinedAt.Load() == 0 { // it may have no Source yet
		return nil, notServingError{m.joining}
	}
	return m.node.activity.Answer(ctx, question)
}

// leave announces that the node stops, and gives callers leaveFor to ask other nodes from then on.
func (m *membership) leave(ctx context.Context) {
	if m.joinedAt.Load() == 0 || len(m.cluster.State().Nodes) < 2 {
		return
	}
	m.cluster.Leave(ctx)
	select {
	case <-time.After(leaveFor):
	case <-ctx.Done():
	}
}

// end ends the node's part in the cluster.
func (m *membership) end() {
	if m.cancel != nil {
		m.cancel()
	}
}

// close closes what openMember has opened, but for the actors and the registers.
func (m *membership) close() error {
	var errs []error
	if m.router != nil {
		errs = append(errs, m.router.Close())
	}
	if m.peers != nil {
		m.peers.Close()
	}
	if m.cluster != nil {
		errs = append(errs, m.cluster.Close())
	}
	return errors.Join(errs...)
}
