// Package joining makes a node a member of a cluster: it founds one, alone or together with other empty nodes that promise
// their founding to one of them; or it is let into one that exists; or, after a start, it has the voters prove that its disk
// is no old copy. On the leader it lets other nodes in. It says too when a node is about to leave.
//
// What a node has promised, and which cluster it belongs to, is on its disk: see [Identity]. Start with [New] and
// [Joiner.Enter].
package joining

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// Config is what a joiner works with. Fields are required unless a zero value is mentioned; those without a comment are
// as in the config of ring/cluster.
type Config struct {
	// Self is this node as it wants to be known, without a mark, and Process its process.
	Self    agreed.Node
	Process agreed.Unique

	Join                 []string
	Expect               int
	Holds                bool
	Partitions, Replicas int
	Limits               []byte
	LimitsLevel          int // that Limits take
	Mark, MarkBefore     agreed.Mark
	// Confirm is called once the disk has turned out to be no old copy. Nil: nothing is.
	Confirm  func(ctx context.Context) error
	NewMarks <-chan agreed.Mark
	Peers    message.Peers
	Levels   level.Range

	Identity  *Identity
	Gossip    *gossip.Gossip
	Agreement *consensus.Agreement
	Directory *gossip.Directory
	Leader    *message.Leader
	// State is what this node shows as agreed, and Changed is closed at the next change.
	State   func() *agreed.State
	Changed func() <-chan struct{}

	// Step is called before and after each durable step of founding; an error ends the node there. Patience is how long a
	// refusal that may be temporary is retried.
	Step     func(string) error
	Patience time.Duration
	Logger   *slog.Logger
	Throttle *lograte.Throttle
}

// A Joiner makes this node a member of a cluster, and answers what other nodes ask to become members. Its methods may be
// called by any number of goroutines at once.
type Joiner struct {
	config    Config
	id        *Identity
	gossip    *gossip.Gossip
	agreement *consensus.Agreement
	directory *gossip.Directory
	logger    *slog.Logger
	throttle  *lograte.Throttle
	process   agreed.Unique

	admission chan struct{} // holds one item while the leader lets a node in
	twin      chan struct{} // takes one item when another process claims to be this node
	proved    atomic.Bool   // the disk was found to be no old copy, or no other node ever heard of it
	asserted  chan struct{} // closed by assert
	asserting sync.Once
	settled   atomic.Bool            // it is known which cluster this node is in, and it promises nothing any more
	waiting   atomic.Pointer[string] // for what, before this node is a member
}

// New is one that has not entered a cluster.
func New(config Config) *Joiner {
	return &Joiner{
		config: config, id: config.Identity, gossip: config.Gossip, agreement: config.Agreement, directory: config.Directory,
		logger: config.Logger, throttle: config.Throttle, process: config.Process,
		admission: make(chan struct{}, 1), twin: make(chan struct{}, 1), asserted: make(chan struct{}),
	}
}

// Handlers are what this node answers to nodes that found or join a cluster.
func (j *Joiner) Handlers() map[string]message.Handler {
	return map[string]message.Handler{
		message.KindMarks:   message.Serve(j.answerMarks),
		message.KindPromise: message.Serve(j.answerPromise),
		message.KindRelease: message.Serve(j.answerRelease),
		message.KindAttempt: message.Serve(j.answerAttempt),
		message.KindLeaving: message.Serve(j.answerLeaving),
	}
}

// LeaderHandlers are what this node answers to them when it leads.
func (j *Joiner) LeaderHandlers() map[string]message.Handler {
	return map[string]message.Handler{
		message.KindFound: message.Serve(j.answerFound),
		message.KindJoin:  message.Serve(j.answerJoin),
		message.KindMark:  message.Serve(j.answerMark),
	}
}

// Enter makes this node a member: of the cluster that its disk belongs to, of one that it founds, or of one that exists.
func (j *Joiner) Enter(ctx context.Context) error {
	if err := j.choose(ctx); err != nil {
		return err
	}
	j.proved.Store(true)
	j.settled.Store(true)
	j.nameCluster()
	decided := j.id.record.get().unfounded()
	if err := j.bootstrap(decided); err != nil {
		return err
	}
	if err := j.agreement.Start(); err != nil {
		return err
	}
	if err := j.proposeFound(ctx, decided); err != nil {
		return err
	}
	return j.becomeMember(ctx)
}

// choose waits until it is known which cluster this node is to be in, and that its disk may be.
func (j *Joiner) choose(ctx context.Context) error {
	f := j.id.record.get()
	switch {
	case len(j.agreement.Servers()) > 0:
		return j.prove(ctx)
	case f.Member != nil && len(j.directory.GossipAddresses(j.config.Join)) == 0:
		return fmt.Errorf("%w: this node was in cluster %s, and its raft log is gone: start it with --join and gossip addresses of other nodes",
			agreed.ErrInvalid, f.Member)
	case f.Member != nil: // a forced recovery has emptied the log, and the node has stopped before it was filled again
		return j.findCluster(ctx)
	case f.Decided != nil: // and raft has not been told
		return nil
	case j.config.Holds:
		return fmt.Errorf("%w: the data directory has the registers of a standalone node, which cannot join a cluster; "+
			"start it without --join and with --expect 1 to make it a cluster of one, then let empty nodes join it", agreed.ErrInvalid)
	case j.config.Expect > 1:
		return j.foundTogether(ctx)
	}
	return j.findCluster(ctx)
}

// MeetTwin has the present mark agreed on again, soon: it shows which of two processes runs on a copy.
func (j *Joiner) MeetTwin() {
	select {
	case j.twin <- struct{}{}:
	default:
	}
}

// Assert ends this node's asking whether its disk is an old copy: a recovery says that too few are left who could answer, and
// nothing that it keeps counts as known.
func (j *Joiner) Assert() { j.asserting.Do(func() { close(j.asserted) }) }

// Proved says whether this node's disk was found to be no old copy.
func (j *Joiner) Proved() bool { return j.proved.Load() }
