// Package consensus has the nodes of a cluster agree: it is raft, with its log, snapshots, term and vote on the disk, its
// connections, the choice of the nodes that vote, and what becomes of its files in a forced recovery. What is agreed on, and
// which commands change it, is package agreed's.
//
// What [Agreement.Propose] returns without an error is durable on a majority of the voters and applied here. The marks of
// nodes in anything that was ever stored here are known even while raft does not run. Start with [Open] and
// [Agreement.Start].
package consensus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/key"
)

const (
	// ElectionTimeout is how long a leader may be silent: a follower that has heard no leader for one or two of these asks for votes.
	ElectionTimeout = time.Second

	commitTimeout     = 20 * time.Millisecond  // how late followers hear that an idle leader's last entry is committed
	leaseTimeout      = 500 * time.Millisecond // a leader that hears no majority for this long steps down
	snapshotInterval  = 30 * time.Second
	snapshotThreshold = 256              // entries
	trailingLogs      = 256              // entries kept behind a snapshot, for followers that lag a little
	enqueueTimeout    = 10 * time.Second // for proposals whose context has no deadline
)

// Config says where an agreement lives.
type Config struct {
	Dir       string       // the agreement's files are raft/ and marks.json in it
	FS        vfs.FS       // that Dir is on; nil: the operating system's
	OpenRaft  openRaft     // nil: openFiles
	ID        ring.NodeID  // this node
	Listener  net.Listener // for raft; the agreement closes it in stop
	Bounds    bound.Config // of what comes over it
	Advertise string       // host:port at which others reach the listener
	Key       *key.Key     // nil: plain TCP
	// Address is where a node's raft is now, where that is known better than raft's own configuration says, else empty.
	// Optional; it must not block.
	Address func(ring.NodeID) string
	Logger  *slog.Logger
}

// Advertised is where the others reach this node's raft.
func (a *Agreement) Advertised() string { return a.config.Advertise }

// folder is where the agreement's files are.
func (c *Config) folder() folder.Folder { return folder.Of(c.FS, c.Dir) }

// A Server is a member of raft's configuration.
type Server struct {
	ID      ring.NodeID
	Address string // of its raft
	Voter   bool
}

// An Agreement is this node's part in what the cluster agrees on: raft's log and snapshots on the disk, and raft itself
// between start and stop. Its methods may be called by any number of goroutines at once.
type Agreement struct {
	config   Config
	logger   *slog.Logger
	raftLog  hclog.Logger
	marks    *marks
	machine  *machine
	failures chan error // takes the first one

	running atomic.Pointer[raft.Raft]          // nil while raft does not run
	stored  atomic.Pointer[raft.Configuration] // the newest configuration on the disk while raft does not run
	leads   atomic.Pointer[leadership]

	mu        sync.Mutex // held by what opens, starts and stops
	disk      *disk      // nil once closed, or when a reset failed
	closed    bool
	transport *transport     // nil before the first start
	watcher   sync.WaitGroup // follows the leadership of the raft that runs
	unwatch   context.CancelFunc
}

// Open reads what the disk knows. Raft does not run before start.
func Open(config Config) (*Agreement, error) {
	a := &Agreement{config: config, logger: config.Logger, failures: make(chan error, 1)}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.raftLog = newRaftLog(a.logger)
	a.marks = newMarks()
	a.machine = newMachine(a.marks, a.fail)
	a.leads.Store(&leadership{changed: make(chan struct{})})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.openLocked(); err != nil {
		return nil, err
	}
	return a, nil
}

// openLocked opens the files and publishes what they hold.
func (a *Agreement) openLocked() error {
	disk, found, err := openDisk(&a.config, a.marks, a.fail, a.raftLog)
	if err != nil {
		return err
	}
	a.disk = disk
	a.stored.Store(&found.configuration)
	a.machine.publish(found.state)
	return nil
}

// State is what was agreed on, as far as this node has applied it; of Version 0 before the founding.
func (a *Agreement) State() *agreed.State { return a.machine.published.Load().state }

// Changed is closed when there is a newer state than the one at this call. Call it before state, or a change between
// the two goes unnoticed.
func (a *Agreement) Changed() <-chan struct{} { return a.machine.published.Load().changed }

// HighestMark is the highest mark of a node in anything that was stored here: snapshot or log, committed or not.
func (a *Agreement) HighestMark(id ring.NodeID) (agreed.Mark, bool) { return a.marks.of(id) }

// Failed receives the first error after which this node cannot take part any more: of the disk, or a command that this
// version does not understand. The node has to stop.
func (a *Agreement) Failed() <-chan error { return a.failures }

// fail keeps the first failure.
func (a *Agreement) fail(err error) {
	select {
	case a.failures <- err:
	default:
	}
}

// Servers is raft's newest configuration here, committed or not. While raft does not run it is what the disk holds; empty
// means that this disk was never in a cluster, or was reset.
func (a *Agreement) Servers() []Server {
	configuration := *a.stored.Load()
	if r := a.running.Load(); r != nil {
		if future := r.GetConfiguration(); future.Error() == nil {
			configuration = future.Configuration()
		}
	}
	return serversOf(configuration)
}

// serversOf are the servers of a configuration of raft's.
func serversOf(configuration raft.Configuration) []Server {
	servers := make([]Server, 0, len(configuration.Servers))
	for _, s := range configuration.Servers {
		id, err := ring.ParseNodeID(string(s.ID))
		if err != nil {
			continue // none that this package wrote
		}
		servers = append(servers, Server{ID: id, Address: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return servers
}

// Bootstrap writes the first configuration. Only the node that founds the cluster calls it, once, before start.
func (a *Agreement) Bootstrap(servers []Server) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil || a.running.Load() != nil {
		return errors.New("a cluster must be founded before raft starts")
	}
	configuration := configurationOf(servers)
	err := raft.BootstrapCluster(a.raftConfig(), a.disk.logs, a.disk.stable, a.disk.snapshots, nil, configuration)
	if err != nil {
		return fmt.Errorf("bootstrapping raft: %w", err)
	}
	a.stored.Store(&configuration)
	return nil
}

// configurationOf is servers in raft's words.
func configurationOf(servers []Server) (configuration raft.Configuration) {
	for _, s := range servers {
		suffrage := raft.Nonvoter
		if s.Voter {
			suffrage = raft.Voter
		}
		configuration.Servers = append(configuration.Servers,
			raft.Server{Suffrage: suffrage, ID: serverID(s.ID), Address: raft.ServerAddress(s.Address)})
	}
	return configuration
}

// serverID is a node's name in raft.
func serverID(id ring.NodeID) raft.ServerID { return raft.ServerID(id.String()) }

// raftConfig is raft's configuration.
func (a *Agreement) raftConfig() *raft.Config {
	config := raft.DefaultConfig()
	config.LocalID = serverID(a.config.ID)
	config.HeartbeatTimeout, config.ElectionTimeout = ElectionTimeout, ElectionTimeout
	config.LeaderLeaseTimeout, config.CommitTimeout = leaseTimeout, commitTimeout
	config.SnapshotInterval, config.SnapshotThreshold, config.TrailingLogs = snapshotInterval, snapshotThreshold, trailingLogs
	config.ShutdownOnRemove = false // stop does that
	config.NoLegacyTelemetry = true
	config.Logger = a.raftLog
	return config
}

// Start runs raft, until stop.
func (a *Agreement) Start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.startLocked()
}

// startLocked is start.
func (a *Agreement) startLocked() error {
	if a.disk == nil {
		return errors.New("raft is closed on this node")
	}
	if a.running.Load() != nil {
		return nil
	}
	if err := a.connectLocked(); err != nil {
		return err
	}
	a.transport.setClosing(false)
	alone := a.alone()
	r, err := a.newRaft()
	if err != nil {
		return fmt.Errorf("starting raft: %w", err)
	}
	a.running.Store(r)
	ctx, cancel := context.WithCancel(context.Background())
	a.unwatch = cancel
	a.watcher.Go(func() { a.watch(ctx, r) })
	if alone {
		a.watcher.Go(a.electSelf)
	}
	return nil
}

// newRaft runs raft. It is begun on a goroutine of its own, which does not come back if raft cannot write its term.
func (a *Agreement) newRaft() (*raft.Raft, error) {
	type result struct {
		r   *raft.Raft
		err error
	}
	votes := &voteStore{StableStore: a.disk.stable, fail: a.fail}
	begun := make(chan result, 1)
	go func() {
		defer close(begun)
		r, err := raft.NewRaft(a.raftConfig(), a.machine, a.disk.logs, votes, a.disk.snapshots, a.transport)
		begun <- result{r, err}
	}()
	if got, ok := <-begun; ok {
		return got.r, got.err
	}
	return nil, errUnwritten
}

// errUnwritten says that raft's term was not written; the failure of the agreement says why.
var errUnwritten = errors.New("the term could not be written")

// connectLocked makes the transport. It outlives restarts of raft.
func (a *Agreement) connectLocked() (err error) {
	if a.transport == nil {
		a.transport, err = newTransport(a.config, a.addressOf, a.raftLog)
	}
	return err
}

// addressOf is where a server's raft is now.
func (a *Agreement) addressOf(id ring.NodeID) (string, error) {
	if id == a.config.ID {
		return a.config.Advertise, nil
	}
	if a.config.Address != nil {
		if where := a.config.Address(id); where != "" {
			return where, nil
		}
	}
	for _, s := range a.Servers() {
		if s.ID == id {
			return s.Address, nil
		}
	}
	return "", fmt.Errorf("%w: %s", agreed.ErrUnknownNode, id)
}

// stopRaftLocked ends raft and what follows it. The files and the listener stay open.
func (a *Agreement) stopRaftLocked() error {
	r := a.running.Load()
	if r == nil {
		return nil
	}
	configuration := configurationOf(a.Servers())
	a.stored.Store(&configuration)
	a.transport.setClosing(true)
	err := r.Shutdown().Error()
	a.unwatch()
	a.watcher.Wait()
	a.running.Store(nil)
	a.transport.SetHeartbeatHandler(nil) // it is the ended raft's
	return err
}

// Suspend ends raft until start; the files and the listener stay open. Tests cut a node off by it.
func (a *Agreement) Suspend() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopRaftLocked()
}

// Log is raft's log on the disk, for tests. Raft must not run.
func (a *Agreement) Log() raft.LogStore { return a.disk.logs }

// Stop ends raft and closes the files and the listener. The directory may be opened again.
func (a *Agreement) Stop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	err := a.stopRaftLocked()
	if a.transport != nil {
		err = errors.Join(err, a.transport.close())
	} else {
		err = errors.Join(err, a.config.Listener.Close())
	}
	if a.disk != nil {
		err = errors.Join(err, a.disk.close())
		a.disk = nil
	}
	return err
}

// Propose has the leader, which is this node, apply a command: nil once it is committed and applied here, or why it was
// refused, one of this package's Err. It waits no longer than ctx. agreed.ErrNotLeader and a deadline that came before raft
// took the command have changed nothing; agreed.ErrUnknownOutcome may have.
func (a *Agreement) Propose(ctx context.Context, c agreed.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("%w: %w", agreed.ErrInvalid, err)
	}
	r := a.running.Load()
	if r == nil {
		return agreed.ErrNotLeader
	}
	future := r.Apply(data, timeoutOf(ctx))
	if err := await(ctx, future); err != nil {
		return err
	}
	if refusal, ok := future.Response().(error); ok {
		return refusal
	}
	return nil
}

// timeoutOf is how long raft may take to accept what ctx bounds.
func timeoutOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(time.Until(deadline), time.Millisecond) // 0 would be no limit
	}
	return enqueueTimeout
}

// await waits for raft's answer, no longer than ctx, and puts its errors in this package's words.
func await(ctx context.Context, future raft.Future) error {
	answer := make(chan error, 1)
	// The goroutine ends when raft answers. Raft never answers for an entry that it has agreed on and not yet applied when it is
	// shut down: that goroutine stays until the process ends.
	go func() { answer <- future.Error() }()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return agreed.ErrNotLeader
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("raft is busy: %w", context.DeadlineExceeded)
	}
	return fmt.Errorf("%w: %w", agreed.ErrUnknownOutcome, err)
}
