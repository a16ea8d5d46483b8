package joining

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// A cluster of n is founded by the one of n empty nodes with the smallest id, and only with the durable promises of all
// n, its own included. A node promises one founder at a time, and two sets of n among fewer than 2n nodes share a member:
// so overlapping lists of addresses make one cluster or none.
//
//	founder                                      each of the others
//	  attempt a, on disk (its own promise)
//	  promise(a) ──────────────────────────────▶ promise to the founder, on disk
//	  all n: the decision, on disk  ◀─────────── yes, and who I am
//	  raft with n voters; command found          sees the cluster by gossip, or asks the founder; starts raft, joins
//
// A founder that meets a smaller id makes its attempt void, on disk, and only then releases the promises. Every step may
// be the last before a crash: on disk stands how to go on.

// A view is what gossip shows to a node that belongs to no cluster.
type view struct {
	cluster  string        // of a cluster that exists
	founding []gossip.Peer // who wants to found one together with this node, this one included, by id
}

// observe is what gossip shows now, or why this node cannot go on.
func (j *Joiner) observe() (v view, err error) {
	own := j.gossip.Own()
	v.founding = append(v.founding, gossip.Peer{ID: j.config.Self.ID, NodeMeta: own})
	for _, p := range j.gossip.All() {
		switch {
		case !p.Alive:
		case p.Cluster != "" && v.cluster != "" && p.Cluster != v.cluster:
			return view{}, fmt.Errorf("%w: the --join addresses belong to two clusters, %s and %s: name addresses of one cluster",
				message.ErrForeign, v.cluster, p.Cluster)
		case p.Cluster != "":
			v.cluster = p.Cluster
		case p.Phase == gossip.PhaseFounding && own.Phase == gossip.PhaseFounding && p.Expect != own.Expect:
			err = fmt.Errorf("%w: node %s (%s) expects a cluster of %d nodes, and this node, %s, one of %d: give all nodes the same --expect",
				agreed.ErrInvalid, p.Name, p.Address, p.Expect, own.Name, own.Expect)
		case p.Phase == gossip.PhaseFounding:
			v.founding = append(v.founding, p)
		}
	}
	slices.SortFunc(v.founding, func(a, b gossip.Peer) int { return a.ID.Compare(b.ID) })
	if v.cluster != "" {
		return v, nil
	}
	return v, err
}

// findCluster waits until gossip shows a cluster.
func (j *Joiner) findCluster(ctx context.Context) error {
	for {
		wake := j.gossip.Changed()
		switch v, err := j.observe(); {
		case err != nil:
			return err
		case v.cluster != "":
			j.id.chosen.Store(v.cluster)
			return nil
		}
		j.setWaiting("the node looks for its cluster at the --join addresses")
		if j.throttle.Allow("find") {
			j.logger.Info("looking for the cluster at the --join addresses", "join", j.config.Join)
		}
		if _, err := message.Pause(ctx, lograte.Interval, wake); err != nil {
			return err
		}
	}
}

// FoundAlone decides to found a cluster of this node, if it is to be alone and belongs to none. It runs before gossip starts: no other
// node sees this one before it belongs to its cluster.
func (j *Joiner) FoundAlone() error {
	if !j.alone() || j.belongs() {
		return nil
	}
	p, err := j.id.record.openAttempt()
	if errors.Is(err, message.ErrPromised) {
		return fmt.Errorf("%w, and cannot found a cluster alone: start it with --expect and --join as before, or with an empty data directory", err)
	}
	if err != nil {
		return err
	}
	if err := j.decide(p, []agreed.Node{j.config.Self}, j.config.Levels.Newest); err != nil {
		return err
	}
	j.nameCluster()
	return nil
}

// nameCluster has gossip say to which cluster this node belongs, once it knows.
func (j *Joiner) nameCluster() {
	if id := j.id.Cluster(); id != "" {
		j.gossip.Say(func(own *gossip.NodeMeta) { own.Cluster, own.Phase = id, gossip.PhaseJoining })
	}
}

// foundTogether waits until a cluster is decided, by this node or by another.
func (j *Joiner) foundTogether(ctx context.Context) error {
	const first, most = 50 * time.Millisecond, time.Second
	for wait := first; ; wait = min(2*wait, most) {
		wake := j.gossip.Changed()
		v, err := j.observe()
		if err != nil {
			j.gossip.MeetAll() // so that the others hear what this one has heard before it ends
			return err
		}
		if done, err := j.foundingStep(ctx, v); done || err != nil {
			return err
		}
		woken, err := message.Pause(ctx, wait, wake)
		if err != nil {
			return err
		}
		if woken {
			wait = first
		}
	}
}

// foundingStep does what can be done for what is in view, and says whether a cluster is decided.
func (j *Joiner) foundingStep(ctx context.Context, v view) (done bool, err error) {
	held, n := j.id.record.get().Promised, j.config.Expect
	mine := held != nil && held.Founder == j.config.Self.ID
	first := v.founding[0].ID == j.config.Self.ID
	switch {
	case v.cluster != "":
		j.id.chosen.Store(v.cluster)
		if mine {
			return true, j.voidAttempt(ctx, *held)
		}
		return true, nil
	case held != nil && !mine:
		return j.askFounder(ctx, *held)
	case mine && !first:
		return false, j.voidAttempt(ctx, *held)
	case first && len(v.founding) >= n:
		return j.attempt(ctx, v.founding[:n])
	}
	var names []string
	for _, p := range v.founding {
		names = append(names, p.Name)
	}
	here := strings.Join(names, ", ")
	j.setWaiting(fmt.Sprintf("the node waits for more nodes to found a cluster: %d of %d are here (%s)", len(names), n, here))
	if j.throttle.Allow("found") {
		j.logger.Info("waiting for more nodes to found a cluster", "expect", n, "here", here)
	}
	return false, nil
}

// attempt asks for the promises of all members, and decides once it has them.
func (j *Joiner) attempt(ctx context.Context, members []gossip.Peer) (done bool, err error) {
	p, err := j.id.record.openAttempt()
	if err != nil {
		return false, err
	}
	nodes, levels, errs := make([]agreed.Node, len(members)), make([]level.Range, len(members)), make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if m.ID == j.config.Self.ID {
			nodes[i], levels[i] = j.config.Self, j.config.Levels
			continue
		}
		all.Go(func() {
			nodes[i], errs[i] = message.Call[agreed.Node](ctx, j.config.Peers, m.GRPC, message.KindPromise, PromiseRequest{p, j.config.Expect})
			if errs[i] == nil {
				levels[i], errs[i] = j.checkReachable(ctx, m.ID, nodes[i])
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err == nil {
			continue
		}
		if j.throttle.Allow("promise " + members[i].ID.String()) {
			j.logger.Warn("a node has not yet promised to found a cluster with this one", "node", members[i].Name, "error", err)
		}
		return false, nil
	}
	known, err := j.foundingLevel(levels)
	if err := errors.Join(err, distinctNames(nodes)); err != nil {
		return false, err
	}
	if err := j.config.Step("all have promised"); err != nil {
		return false, err
	}
	return true, j.decide(p, nodes, known)
}

// foundingLevel is the newest level that all nodes know which have promised. Their processes have just said so: gossip may tell of earlier ones.
func (j *Joiner) foundingLevel(levels []level.Range) (int, error) {
	known := levels[0]
	for _, l := range levels {
		known.Oldest, known.Newest = max(known.Oldest, l.Oldest), min(known.Newest, l.Newest)
	}
	if known.Oldest > known.Newest {
		return 0, fmt.Errorf("%w: there is no level that all %d nodes know which are to found the cluster: run the same release on all of them", agreed.ErrInvalid, len(levels))
	}
	if takes := j.config.LimitsLevel; takes > known.Newest {
		return 0, fmt.Errorf("%w: the initial limits of the cluster (--limits) have fields that take level %d, and not every node that is to found it knows more than %d: "+
			"run the same release on all of them, or leave these fields out", agreed.ErrLevel, takes, known.Newest)
	}
	return known.Newest, nil
}

func distinctNames(nodes []agreed.Node) error {
	names := map[string]ring.NodeID{}
	for _, n := range nodes {
		if other, taken := names[n.Name]; taken {
			return fmt.Errorf("%w: nodes %s and %s, which found a cluster together, are both called %q: give them different names (--node-name)",
				agreed.ErrNameTaken, other, n.ID, n.Name)
		}
		names[n.Name] = n.ID
	}
	return nil
}

// decide makes the attempt p found a cluster of these nodes, at a level that all of them know. From then on this node says so by gossip.
func (j *Joiner) decide(p Promise, nodes []agreed.Node, known int) error {
	var members []ring.Member
	for _, n := range nodes {
		members = append(members, ring.Member{ID: n.ID, Zone: n.Zone})
	}
	table, err := ring.Assign(nil, members, j.config.Partitions, ring.Replication(len(members), j.config.Replicas))
	if err != nil {
		return err
	}
	what := &agreed.Found{
		Partitions: j.config.Partitions, Replicas: j.config.Replicas,
		Nodes: nodes, Table: table, Limits: j.config.Limits,
	}
	if known > level.First { // a release that knows only that one knows no such field
		what.Level = known
	}
	_, _ = rand.Read(what.Cluster[:]) // never fails
	if err := j.id.record.decide(p, what); err != nil {
		return err
	}
	j.logger.Info("this node founds a cluster", "cluster", what.Cluster, "nodes", len(nodes))
	return nil
}

// voidAttempt gives an attempt of this node up: on disk first, so that no answer to it counts any more, then the promises are
// released. Who does not hear of it asks.
func (j *Joiner) voidAttempt(ctx context.Context, p Promise) error {
	if err := j.id.record.release(p); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, m := range j.gossip.All() {
		if m.Alive {
			all.Go(func() { _, _ = message.Call[message.Nothing](ctx, j.config.Peers, m.GRPC, message.KindRelease, p) })
		}
	}
	all.Wait()
	return nil
}

// askFounder asks the node that has this one's promise what has become of the attempt.
func (j *Joiner) askFounder(ctx context.Context, p Promise) (founded bool, err error) {
	founder, known := j.gossip.Find(p.Founder)
	if !known || !founder.Alive {
		j.warnOfFounder(p, "gossip does not find it")
		return false, nil
	}
	s, err := message.Call[attemptState](ctx, j.config.Peers, founder.GRPC, message.KindAttempt, p)
	switch {
	case err != nil:
		j.warnOfFounder(p, err.Error())
		return false, nil
	case s.Void:
		return false, j.id.record.release(p)
	}
	if s.Cluster == "" {
		return false, nil
	}
	j.id.chosen.Store(s.Cluster)
	return true, nil
}

func (j *Joiner) warnOfFounder(p Promise, why string) {
	if j.throttle.Allow("founder " + p.Founder.String()) {
		j.logger.Warn("this node has promised to found a cluster with a node that does not answer: start that node again; "+
			"if it is lost for good, start this node with an empty data directory", "node", p.Founder, "why", why)
	}
}

// bootstrap gives raft its first voters, if this node founds and has not done so yet.
func (j *Joiner) bootstrap(what *agreed.Found) error {
	if what == nil || len(j.agreement.Servers()) > 0 {
		return nil
	}
	if err := j.config.Step("before bootstrap"); err != nil {
		return err
	}
	var voters []consensus.Server
	for _, n := range what.Nodes {
		voters = append(voters, consensus.Server{ID: n.ID, Address: n.Raft, Voter: true})
	}
	if err := j.agreement.Bootstrap(voters); err != nil {
		return err
	}
	return j.config.Step("after bootstrap")
}

// proposeFound has the cluster founded that this node has decided on, unless that is done.
func (j *Joiner) proposeFound(ctx context.Context, what *agreed.Found) error {
	if what == nil || j.agreement.State().Founded() {
		return nil
	}
	if err := j.config.Step("before found"); err != nil {
		return err
	}
	if _, err := message.AskLeader[message.Nothing](ctx, j.config.Leader, message.KindFound, what); err != nil {
		return err
	}
	return j.config.Step("after found")
}

// answerFound proposes the command found, on the leader, for the founder.
func (j *Joiner) answerFound(ctx context.Context, what agreed.Found) (message.Nothing, error) {
	return message.Nothing{}, j.agreement.Propose(ctx, agreed.Command{Found: &what})
}
