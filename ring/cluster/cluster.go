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
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Why a node cannot take part, or not any more, and why an administrator's request is refused. See package message, and
// package agreed for the others.
var (
	ErrOldCopy     = message.ErrOldCopy
	ErrDiskInUse   = message.ErrDiskInUse
	ErrForeign     = message.ErrForeign
	ErrUnreachable = message.ErrUnreachable
	ErrNoLeader    = message.ErrNoLeader
	ErrAlive       = message.ErrAlive
)

// ErrClosed says that this node's part in the cluster has ended.
var ErrClosed = errors.New("this node is stopping")

// A Cluster is this node's part in a cluster. Its methods may be called by any number of goroutines at once.
//
//	goroutine        runs                            lives
//	Run              founding or joining, then waits  until the context of Run ends, or the node cannot go on
//	show             State and Changed                the same, as all that follow
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
	config    Config
	logger    *slog.Logger
	process   agreed.Unique // of this New
	seldom    *lograte.Throttle
	wire      *gossip.Wire
	gossip    *gossip.Gossip
	agreement *consensus.Agreement
	record    *record
	book      *gossip.AddressBook
	clocks    *clocks.Clocks
	health    *health.Health
	driver    *driver.Driver
	metrics   *metrics
	registry  *prometheus.Registry // of this New: a node may leave one cluster and enter another
	handlers  map[string]message.Handler
	leader    *message.Leader
	admission chan struct{} // holds one item while the leader lets a node in
	twin      chan struct{} // takes one item when another process claims to be this node
	proved    atomic.Bool   // the disk was found to be no old copy, or nobody ever heard of it
	asserted  chan struct{} // closed by assert
	asserting sync.Once
	joined    chan struct{}              // closed once this node is a member whose mark is raised
	settled   atomic.Bool                // it is known which cluster this node is in, and it promises nothing any more
	chosen    atomic.Value               // the id, a string, of a cluster that exists and that this node is to join
	shown     atomic.Pointer[shownState] // what State and Changed tell
	waiting   atomic.Pointer[string]     // for what, before this node is a member
	rescue    sync.Mutex                 // held by Recover and by a reset
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
	c := &Cluster{
		config: config, logger: config.Logger, seldom: lograte.NewThrottle(),
		admission: make(chan struct{}, 1), twin: make(chan struct{}, 1), asserted: make(chan struct{}), joined: make(chan struct{}),
	}
	c.leader = message.NewLeader(message.LeaderConfig{
		Peers: config.Peers, Name: config.Name, Cluster: c.belongsTo, Leader: func() (ring.NodeID, bool, bool) { return c.agreement.Leader() },
		Leading: func() bool { leading, _ := c.agreement.Leading(); return leading },
		Address: c.addressOf, Others: c.clusterAddresses, Allow: c.seldom.Allow, Logger: c.logger,
	})
	c.shown.Store(&shownState{state: &agreed.State{}, changed: make(chan struct{})})
	_, _ = rand.Read(c.process[:]) // never fails
	var err error
	if c.record, err = openRecord(in, config.ID, config.tuning.step); err != nil {
		return nil, err
	}
	c.book = gossip.OpenAddressBook(in)
	if c.wire, err = gossip.Bind(config.BindGossip, config.AdvertiseHost, config.GossipBounds, config.Key); err != nil {
		return nil, fmt.Errorf("listening for gossip on %s (--listen-gossip, --advertise): %w", config.BindGossip, err)
	}
	if err := c.openAgreement(); err != nil {
		return nil, errors.Join(err, c.wire.Close())
	}
	own := c.card()
	if err := own.Check(); err != nil {
		return nil, errors.Join(err, c.agreement.Stop(), c.wire.Close())
	}
	c.gossip = gossip.New(gossip.Config{
		ID: config.ID, Own: own, Wire: c.wire, Key: config.Key, Twin: c.meetTwin, Speaks: config.Speaks, Tune: config.tuning.gossip, Logger: c.logger,
	})
	c.clocks = clocks.New(clocks.Config{
		Now: config.Now, Advance: config.Advance, Ask: c.askNow, Peers: c.livingAddresses,
		Members: func() int { return len(c.agreement.State().Nodes) }, Logger: c.logger,
	})
	c.health = health.New(health.Config{
		ID: config.ID, Process: c.process, State: c.State, Changed: c.Changed, Others: c.otherMembers, Peers: config.Peers,
		Refuses: config.Refuses, Stalled: config.Stalled, Report: config.OnDeciding, Logger: c.logger,
	})
	c.registry = prometheus.NewRegistry()
	c.metrics = newMetrics(c.registry, c)
	c.driver = driver.New(driver.Config{
		State: c.agreement.State, Changed: c.agreement.Changed, Propose: c.agreement.Propose, Peers: config.Peers,
		Address: c.whereabouts, DeadSince: c.gossip.DeadSince, Logger: c.logger, Metrics: c.registry,
	})
	c.answerAsLeader()
	c.handlers = c.routes()
	c.show()
	if config.Metrics != nil {
		if err := config.Metrics.Register(c.registry); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
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
	err := c.foundAlone()
	if err == nil {
		err = c.gossip.Start()
	}
	if err == nil {
		c.begin(ctx, cancel, &tasks)
		err = c.enter(ctx)
	}
	if err == nil {
		c.work(ctx, cancel, &tasks)
		close(c.joined)
		<-ctx.Done()
	}
	cancel(err)
	tasks.Wait()
	cause := context.Cause(ctx) // the first reason; what it has led to is not told
	if outer.Err() != nil && errors.Is(cause, context.Cause(outer)) {
		cause = nil
	}
	return errors.Join(cause, c.Close())
}

// begin starts what is needed to find a cluster.
func (c *Cluster) begin(ctx context.Context, cancel context.CancelCauseFunc, tasks *sync.WaitGroup) {
	tasks.Go(func() { c.keepShowing(ctx, cancel) })
	tasks.Go(func() { c.gossip.Seek(ctx, c.gossipAddresses) })
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

// work starts what members do.
func (c *Cluster) work(ctx context.Context, cancel context.CancelCauseFunc, tasks *sync.WaitGroup) {
	c.gossip.Say(func(own *gossip.NodeMeta) { own.Phase, own.Cluster = gossip.PhaseMember, c.belongsTo() })
	tasks.Go(func() {
		if err := c.followMarks(ctx); err != nil {
			cancel(err)
		}
	})
	tasks.Go(func() { c.agreement.WhileLeading(ctx, c.driver.Run) })
	c.logger.Info("this node is a member of the cluster", "cluster", c.belongsTo(), "name", c.config.Name, "id", c.config.ID)
}

// enter makes this node a member: of the cluster that its disk belongs to, of one that it founds, or of one that exists.
func (c *Cluster) enter(ctx context.Context) error {
	if err := c.choose(ctx); err != nil {
		return err
	}
	c.proved.Store(true)
	c.settled.Store(true)
	c.nameCluster()
	decided := c.record.look().unfounded()
	if err := c.bootstrap(decided); err != nil {
		return err
	}
	if err := c.agreement.Start(); err != nil {
		return err
	}
	if err := c.proposeFound(ctx, decided); err != nil {
		return err
	}
	return c.settle(ctx)
}

// choose waits until it is known which cluster this node is to be in, and that its disk may be.
func (c *Cluster) choose(ctx context.Context) error {
	f := c.record.look()
	switch {
	case len(c.agreement.Servers()) > 0:
		return c.prove(ctx)
	case f.Member != nil && len(c.gossipAddresses()) == 0:
		return fmt.Errorf("%w: this node was in cluster %s, and its raft log is gone: start it with --join and the gossip addresses of others",
			agreed.ErrInvalid, f.Member)
	case f.Member != nil: // a forced recovery has emptied the log, and the node has stopped before it was filled again
		return c.findCluster(ctx)
	case f.Decided != nil: // and raft has not been told
		return nil
	case c.config.Holds:
		return fmt.Errorf("%w: the data directory has registers of a node that was alone, which cannot be taken into a cluster; "+
			"start it without --join and with --expect 1 to make it one, and let empty nodes join it", agreed.ErrInvalid)
	case c.config.Expect > 1:
		return c.foundTogether(ctx)
	}
	return c.findCluster(ctx)
}

// alone says whether this node founds a cluster by itself.
func (c *Cluster) alone() bool {
	return c.config.Expect == 1 || c.config.Expect == 0 && len(c.config.Join) == 0
}

// belongs says whether this node is in a cluster, or goes for one that exists.
func (c *Cluster) belongs() bool {
	return c.settled.Load() || c.belongsTo() != "" || len(c.agreement.Servers()) > 0
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

// self is this node as it wants to be known; its mark is for a time when the disk is known to be no old copy.
func (c *Cluster) self() agreed.Node {
	return agreed.Node{
		ID: c.config.ID, Name: c.config.Name, Zone: c.config.Zone, GRPC: c.config.GRPC, HTTP: c.config.HTTP,
		Gossip: c.wire.Address(), Raft: c.RaftAddress(),
	}
}

// card is what gossip says of this node at its start.
func (c *Cluster) card() gossip.NodeMeta {
	own := gossip.NodeMeta{
		Protocol: gossip.ProtocolVersion, Partitions: c.config.Partitions, Cluster: c.belongsTo(), Name: c.config.Name,
		GRPC: c.config.GRPC, Raft: c.RaftAddress(), Phase: gossip.PhaseJoining, Expect: c.config.Expect, Process: c.process.String(),
	}
	if own.Cluster == "" && c.config.Expect > 1 && len(c.agreement.Servers()) == 0 {
		own.Phase = gossip.PhaseFounding
	}
	return own
}

// meetTwin has the present mark agreed on again, soon: it shows which of two processes runs on a copy.
func (c *Cluster) meetTwin() {
	select {
	case c.twin <- struct{}{}:
	default:
	}
}

// raftAddressOf is where gossip says that a node's raft is.
func (c *Cluster) raftAddressOf(id ring.NodeID) string {
	if c.gossip == nil {
		return ""
	}
	p, _ := c.gossip.Find(id)
	return p.Raft
}
