package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/clocks"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/driver"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/cluster/joining"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/cluster/recovery"
)

// A Cluster is this node's part in a cluster. Its methods may be called by any number of goroutines at once.
//
//	goroutine        runs                            lives
//	Run              founding or joining, then waits  until the context of Run ends, or the node cannot go on
//	state            State and Changed                the same, as all that follow
//	seek             finds nodes by gossip
//	clock            asks for the others' clocks
//	hearing          asks the other members whether they answer
//	voters           who votes in raft                idle but on the leader
//	failed           waits for raft's disk to fail
//	marks            has later marks agreed on        from when the node has joined
//	drive            moves of partitions              the same; idle but on the leader
//
// Gossip and raft have goroutines of their own, which end with Run.
type Cluster struct {
	config   Config
	logger   *slog.Logger
	throttle *lograte.Throttle
	process  agreed.Unique        // of this New
	registry *prometheus.Registry // of this New: a node may leave one cluster and enter another
	metrics  *metrics

	// The parts, in the order in which New makes them. None of them knows this struct.
	identity  *joining.Identity
	book      *gossip.AddressBook
	wire      *gossip.Wire
	agreement *consensus.Agreement
	gossip    *gossip.Gossip
	directory *gossip.Directory
	leader    *message.Leader
	joiner    *joining.Joiner
	recoverer *recovery.Recoverer
	clocks    *clocks.Clocks
	health    *health.Health
	driver    *driver.Driver
	handlers  map[string]message.Handler // by kind; not changed after New
	resets    *resets
	prober    prober

	published atomic.Pointer[publishedState] // what State and Changed tell; New and followState store it
	level     int                            // that was adopted, for followState; 0 before there was one
	joined    chan struct{}                  // closed once this node is a member whose mark is raised
	closing   sync.Once
	closed    atomic.Bool
}

// New binds the sockets and reads the files. From here on Handle answers, which others need to start. Close releases what
// New has taken.
func New(config Config) (*Cluster, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	in := folder.Of(config.FS, config.Dir)
	if err := in.Make(); err != nil {
		return nil, err
	}
	c := &Cluster{config: config, logger: config.Logger, throttle: lograte.NewThrottle(), joined: make(chan struct{}), resets: newResets()}
	c.published.Store(&publishedState{state: &agreed.State{}, changed: make(chan struct{})})
	_, _ = rand.Read(c.process[:]) // never fails
	var err error
	c.identity, err = joining.NewIdentity(in, config.ID, func() *agreed.State { return c.agreement.State() }, config.tuning.step)
	if err != nil {
		return nil, err
	}
	c.book = gossip.OpenAddressBook(in)
	c.wire, err = gossip.Bind(gossip.BindConfig{
		Address: config.BindGossip, AdvertiseHost: config.AdvertiseHost, Bounds: config.GossipBounds, Key: config.Key,
	})
	if err != nil {
		return nil, fmt.Errorf("listening for gossip on %s (--listen-gossip, --advertise): %w", config.BindGossip, err)
	}
	if err := c.openAgreement(); err != nil {
		return nil, errors.Join(err, c.wire.Close())
	}
	own := c.nodeMeta()
	if err := own.Check(); err != nil {
		return nil, errors.Join(err, c.agreement.Stop(), c.wire.Close())
	}
	c.gossip = gossip.New(gossip.Config{
		ID: config.ID, Own: own, Wire: c.wire, Key: config.Key, Twin: func() { c.joiner.MeetTwin() }, Speaks: config.Speaks, Rarely: config.tuning.rarely, Tune: config.tuning.gossip, Logger: c.logger,
	})
	c.assemble()
	c.registry = prometheus.NewRegistry()
	c.metrics = c.newMetrics(c.registry)
	c.driver = driver.New(driver.Config{
		State: c.agreement.State, Changed: c.agreement.Changed, Propose: c.agreement.Propose, Peers: config.Peers,
		Address: c.directory.AddressWithID, DeadSince: c.gossip.DeadSince, Logger: c.logger, Metrics: c.registry,
	})
	c.registerHandlers()
	if err := c.publish(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if config.Metrics != nil {
		if err := config.Metrics.Register(c.registry); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// assemble makes the parts that stand on gossip and on the agreement.
func (c *Cluster) assemble() {
	config := &c.config
	c.directory = &gossip.Directory{
		ID: config.ID, Gossip: c.gossip, Book: c.book, State: c.agreement.State, Decided: c.identity.DecidedNodes,
	}
	c.leader = message.NewLeader(message.LeaderConfig{
		Peers: config.Peers, Name: config.Name, Cluster: c.identity.Cluster, Leader: c.agreement.Leader,
		Leading: func() bool { leading, _ := c.agreement.Leading(); return leading },
		Address: c.directory.Address, Others: c.directory.InClusters, Allow: c.throttle.Allow, Logger: c.logger,
	})
	c.joiner = joining.New(joining.Config{
		Self: c.self(), Process: c.process, Join: config.Join, Expect: config.Expect, Holds: config.Holds,
		Partitions: config.Partitions, Replicas: config.Replicas, Limits: config.Limits, LimitsLevel: config.limitsLevel, Mark: config.Mark, MarkBefore: config.MarkBefore,
		Confirm: config.Confirm, NewMarks: config.NewMarks, Peers: config.Peers, Levels: config.Levels, Identity: c.identity, Gossip: c.gossip,
		Agreement: c.agreement, Directory: c.directory, Leader: c.leader, State: c.State, Changed: c.Changed,
		Step: config.tuning.step, Patience: config.tuning.patience, Logger: c.logger, Throttle: c.throttle,
	})
	c.recoverer = recovery.New(recovery.Config{
		ID: config.ID, Name: config.Name, Peers: config.Peers, Gossip: c.gossip, Agreement: c.agreement, Directory: c.directory,
		Leader: c.leader, State: c.State, Belong: c.identity.Belong, Proved: c.joiner.Proved, Assert: c.joiner.Assert,
		Epochs: config.Epochs, End: config.End, Entry: c.entry, Logger: c.logger,
	})
	c.clocks = clocks.New(clocks.Config{
		Now: config.Now, Advance: config.Advance, Ask: c.askNow, Peers: c.directory.Living,
		Members: func() int { return len(c.agreement.State().Nodes) }, Logger: c.logger,
	})
	c.health = health.New(health.Config{
		ID: config.ID, Process: c.process, State: c.State, Changed: c.Changed, Others: c.otherMembers, Peers: config.Peers,
		Refuses: config.Refuses, Stalled: config.Stalled, Keys: c.keys, Levels: config.Levels, Release: config.Release, Report: config.OnDeciding,
		Logger: c.logger,
	})
}

// openAgreement binds raft and reads its files.
func (c *Cluster) openAgreement() error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", c.config.BindRaft)
	if err != nil {
		return fmt.Errorf("listening for raft on %s (--listen-raft): %w", c.config.BindRaft, err)
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if c.config.AdvertiseHost != "" {
		host = c.config.AdvertiseHost
	} else if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = c.wire.IP
	}
	c.agreement, err = consensus.Open(consensus.Config{
		Dir: c.config.Dir, FS: c.config.FS, OpenRaft: c.config.OpenRaft, ID: c.config.ID, Listener: listener, Advertise: net.JoinHostPort(host, port),
		Bounds: c.config.RaftBounds, Key: c.config.Key, Address: c.raftAddressOf, Logger: c.logger,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return nil
}

// Run takes part in the cluster: it founds or joins one, unless the disk belongs to one, and works in it until ctx ends,
// and then returns nil. An error means that the node cannot take part, or not any more. It is called once, and
// what New has taken is released when it returns.
func (c *Cluster) Run(ctx context.Context) error {
	if c.closed.Load() {
		return ErrClosed
	}
	outer := ctx
	ctx, cancel := context.WithCancelCause(outer)
	var tasks sync.WaitGroup
	err := c.joiner.FoundAlone()
	if err == nil {
		err = c.gossip.Start()
	}
	if err == nil {
		c.startSearch(ctx, cancel, &tasks)
		err = c.joiner.Enter(ctx)
	}
	if err == nil {
		c.startMembership(ctx, cancel, &tasks)
		close(c.joined)
		<-ctx.Done()
	}
	cancel(err)
	tasks.Wait()
	cause := context.Cause(ctx) // the first reason, without its consequences
	if outer.Err() != nil && errors.Is(cause, context.Cause(outer)) {
		cause = nil
	}
	return errors.Join(cause, c.Close())
}

// startSearch starts the goroutines that find a cluster.
func (c *Cluster) startSearch(ctx context.Context, cancel context.CancelCauseFunc, tasks *sync.WaitGroup) {
	tasks.Go(func() { c.followState(ctx, cancel) })
	tasks.Go(func() { c.gossip.Seek(ctx, func() []string { return c.directory.GossipAddresses(c.config.Join) }) })
	tasks.Go(func() { c.clocks.Run(ctx) })
	tasks.Go(func() { c.health.Run(ctx) })
	tasks.Go(func() { c.agreement.KeepVoters(ctx, c.gossip.Alive) })
	tasks.Go(func() {
		select {
		case <-ctx.Done():
		case err := <-c.agreement.Failed():
			cancel(err)
		}
	})
}

// startMembership starts the goroutines of a member.
func (c *Cluster) startMembership(ctx context.Context, cancel context.CancelCauseFunc, tasks *sync.WaitGroup) {
	c.gossip.Say(func(own *gossip.NodeMeta) { own.Phase, own.Cluster = gossip.PhaseMember, c.identity.Cluster() })
	tasks.Go(func() {
		if err := c.joiner.FollowMarks(ctx); err != nil {
			cancel(err)
		}
	})
	tasks.Go(func() { c.agreement.WhileLeading(ctx, c.driver.Run) })
	tasks.Go(func() { c.writeResets(ctx) })
	c.logger.Info("this node is a member of the cluster", "cluster", c.identity.Cluster(), "name", c.config.Name, "id", c.config.ID)
}

// Close releases what New has taken. It is needed only if Run is never called.
func (c *Cluster) Close() (err error) {
	c.closing.Do(func() {
		c.closed.Store(true)
		err = errors.Join(c.gossip.Stop(), c.agreement.Stop())
		if c.config.Metrics != nil {
			c.config.Metrics.Unregister(c.registry)
		}
	})
	return err
}

// Joined is closed once this node is a member and its mark is raised: from then on it may serve.
func (c *Cluster) Joined() <-chan struct{} { return c.joined }

// Process is the random name of this process in the cluster.
func (c *Cluster) Process() agreed.Unique { return c.process }

// GossipAddress is where the others reach this node's gossip: what goes into their Join.
func (c *Cluster) GossipAddress() string { return c.wire.Address() }

// RaftAddress is where the others reach this node's raft.
func (c *Cluster) RaftAddress() string { return c.agreement.Advertised() }

// self describes this node, without its mark: that is added once the disk is known not to be an old copy.
func (c *Cluster) self() agreed.Node {
	return agreed.Node{
		ID: c.config.ID, Name: c.config.Name, Zone: c.config.Zone, GRPC: c.config.GRPC, HTTP: c.config.HTTP,
		Gossip: c.wire.Address(), Raft: c.RaftAddress(),
	}
}

// nodeMeta is what this node gossips about itself at its start.
func (c *Cluster) nodeMeta() gossip.NodeMeta {
	own := gossip.NodeMeta{
		Level: c.config.Levels.Oldest, Newest: c.config.Levels.Newest, Partitions: c.config.Partitions, Cluster: c.identity.Cluster(), Name: c.config.Name,
		GRPC: c.config.GRPC, Raft: c.RaftAddress(), Phase: gossip.PhaseJoining, Expect: c.config.Expect, Process: c.process.String(),
	}
	if own.Cluster == "" && c.config.Expect > 1 && len(c.agreement.Servers()) == 0 {
		own.Phase = gossip.PhaseFounding
	}
	return own
}

// raftAddressOf is where gossip says that a node's raft is.
func (c *Cluster) raftAddressOf(id ring.NodeID) string {
	if c.gossip == nil {
		return ""
	}
	p, _ := c.gossip.Find(id)
	return p.Raft
}
