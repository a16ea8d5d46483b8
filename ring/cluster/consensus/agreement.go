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
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// Advertised is where the others reach this node's raft.
func (a *Agreement) Advertised() string { return a.config.Advertise }

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
	lost    atomic.Pointer[[]ring.NodeID] // who was named as lost when this node was reset last

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
	a.lost.Store(&disk.lost)
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

// Bootstrap writes the first configuration. Only the node that founds the cluster calls it, before start, and again after a kill until
// there are Servers.
func (a *Agreement) Bootstrap(servers []Server) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil || a.running.Load() != nil {
		return errors.New("a cluster must be founded before raft starts")
	}
	if err := a.disk.forgetCutBootstrap(); err != nil {
		return fmt.Errorf("looking for a bootstrap that was cut short: %w", err)
	}
	configuration := configurationOf(servers)
	err := raft.BootstrapCluster(a.raftConfig(), a.disk.logs, a.disk.stable, a.disk.snapshots, nil, configuration)
	if err != nil {
		return fmt.Errorf("bootstrapping raft: %w", err)
	}
	a.stored.Store(&configuration)
	return nil
}

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
	a.connectLocked()
	a.transport.setClosing(false)
	alone := a.alone()
	r, err := a.newRaft()
	if err != nil {
		return fmt.Errorf("starting raft: %w", err)
	}
	a.running.Store(r)
	a.transport.inbox.open()
	ctx, cancel := context.WithCancel(context.Background())
	a.unwatch = cancel
	a.watcher.Go(func() { a.watch(ctx, r) })
	if alone {
		a.watcher.Go(a.electSelf)
	}
	return nil
}

// newRaft starts raft, on a goroutine of its own, which does not return if raft cannot write its term.
func (a *Agreement) newRaft() (*raft.Raft, error) {
	type result struct {
		r   *raft.Raft
		err error
	}
	votes := &voteStore{StableStore: a.disk.stable, fail: a.fail}
	started := make(chan result, 1)
	go func() {
		defer close(started)
		r, err := raft.NewRaft(a.raftConfig(), a.machine, a.disk.logs, votes, a.disk.snapshots, a.transport)
		started <- result{r, err}
	}()
	if got, ok := <-started; ok {
		return got.r, got.err
	}
	return nil, errUnwritten
}

// errUnwritten says that raft's term was not written; the failure of the agreement says why.
var errUnwritten = errors.New("the term could not be written")

// connectLocked makes the transport. It outlives restarts of raft.
func (a *Agreement) connectLocked() {
	if a.transport == nil {
		a.transport = newTransport(a.config, a.addressOf, a.letGo, a.raftLog)
	}
}

// letGo says whether a node was removed, and raft has no such server any more. At a node that was reset for a forced recovery, and has not heard of
// what came of it yet, those count as removed who were named as lost then.
func (a *Agreement) letGo(id raft.ServerID) bool {
	node, err := ring.ParseNodeID(string(id))
	if err != nil {
		return false
	}
	s := a.State()
	_, removed := s.Removed[node]
	if lost := a.lost.Load(); !s.Founded() && lost != nil {
		removed = slices.Contains(*lost, node)
	}
	return removed && !slices.ContainsFunc(a.Servers(), func(s Server) bool { return s.ID == node })
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
	a.transport.inbox.close()
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
