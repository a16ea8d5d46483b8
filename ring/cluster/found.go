package cluster

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

// look is what gossip shows now, or why this node cannot go on.
func (c *Cluster) look() (v view, err error) {
	own := c.gossip.Own()
	v.founding = append(v.founding, gossip.Peer{ID: c.config.ID, NodeMeta: own})
	for _, p := range c.gossip.All() {
		switch {
		case !p.Alive:
		case p.Cluster != "" && v.cluster != "" && p.Cluster != v.cluster:
			return view{}, fmt.Errorf("%w: the addresses of --join lead to two clusters, %s and %s: name those of one",
				message.ErrForeign, v.cluster, p.Cluster)
		case p.Cluster != "":
			v.cluster = p.Cluster
		case p.Phase == gossip.PhaseFounding && own.Phase == gossip.PhaseFounding && p.Expect != own.Expect:
			err = fmt.Errorf("%w: node %s (%s) expects a cluster of %d nodes, and this node, %s, one of %d: give all of them the same --expect",
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
func (c *Cluster) findCluster(ctx context.Context) error {
	for {
		wake := c.gossip.Changed()
		switch v, err := c.look(); {
		case err != nil:
			return err
		case v.cluster != "":
			c.chosen.Store(v.cluster)
			return nil
		}
		c.wait("it looks for a node of its cluster at the addresses of --join")
		if c.seldom.Allow("find") {
			c.logger.Info("looking for a node of the cluster at the addresses of --join", "join", c.config.Join)
		}
		if _, err := message.Pause(ctx, lograte.Interval, wake); err != nil {
			return err
		}
	}
}

// foundAlone decides to found a cluster of this node, if it is to be alone and belongs to none. That is before gossip
// begins: nobody meets this node who does not belong to its cluster.
func (c *Cluster) foundAlone() error {
	if !c.alone() || c.belongs() {
		return nil
	}
	p, err := c.record.begin()
	if errors.Is(err, message.ErrPromised) {
		return fmt.Errorf("%w, and cannot found a cluster alone: start it as before, with --expect and --join, or with an empty data directory", err)
	}
	if err != nil {
		return err
	}
	if err := c.decide(p, []agreed.Node{c.self()}); err != nil {
		return err
	}
	c.nameCluster()
	return nil
}

// nameCluster has gossip say to which cluster this node belongs, once it knows.
func (c *Cluster) nameCluster() {
	if id := c.belongsTo(); id != "" {
		c.gossip.Say(func(own *gossip.NodeMeta) { own.Cluster, own.Phase = id, gossip.PhaseJoining })
	}
}

// foundTogether waits until a cluster is decided, by this node or by another.
func (c *Cluster) foundTogether(ctx context.Context) error {
	const first, most = 50 * time.Millisecond, time.Second
	for wait := first; ; wait = min(2*wait, most) {
		wake := c.gossip.Changed()
		v, err := c.look()
		if err != nil {
			c.gossip.MeetAll() // so that the others hear what this one has heard before it ends
			return err
		}
		if done, err := c.foundingStep(ctx, v); done || err != nil {
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
func (c *Cluster) foundingStep(ctx context.Context, v view) (done bool, err error) {
	held, n := c.record.look().Promised, c.config.Expect
	mine := held != nil && held.Founder == c.config.ID
	first := v.founding[0].ID == c.config.ID
	switch {
	case v.cluster != "":
		c.chosen.Store(v.cluster)
		if mine {
			return true, c.void(ctx, *held)
		}
		return true, nil
	case held != nil && !mine:
		return c.askFounder(ctx, *held)
	case mine && !first:
		return false, c.void(ctx, *held)
	case first && len(v.founding) >= n:
		return c.attempt(ctx, v.founding[:n])
	}
	var names []string
	for _, p := range v.founding {
		names = append(names, p.Name)
	}
	here := strings.Join(names, ", ")
	c.wait(fmt.Sprintf("it waits for nodes to found a cluster with: %d of %d are here (%s)", len(names), n, here))
	if c.seldom.Allow("found") {
		c.logger.Info("waiting for nodes to found a cluster with", "expect", n, "here", here)
	}
	return false, nil
}

// attempt asks for the promises of all members, and decides once it has them.
func (c *Cluster) attempt(ctx context.Context, members []gossip.Peer) (done bool, err error) {
	p, err := c.record.begin()
	if err != nil {
		return false, err
	}
	nodes, errs := make([]agreed.Node, len(members)), make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if m.ID == c.config.ID {
			nodes[i] = c.self()
			continue
		}
		all.Go(func() {
			nodes[i], errs[i] = message.Call[agreed.Node](ctx, c.config.Peers, m.GRPC, message.KindPromise, promiseRequest{p, c.config.Expect})
			if errs[i] == nil {
				errs[i] = c.reach(ctx, m.ID, nodes[i])
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err == nil {
			continue
		}
		if c.seldom.Allow("promise " + members[i].ID.String()) {
			c.logger.Warn("a node does not promise to found a cluster with this one yet", "node", members[i].Name, "error", err)
		}
		return false, nil
	}
	if err := distinctNames(nodes); err != nil {
		return false, err
	}
	if err := c.config.tuning.step("all have promised"); err != nil {
		return false, err
	}
	return true, c.decide(p, nodes)
}

func distinctNames(nodes []agreed.Node) error {
	names := map[string]ring.NodeID{}
	for _, n := range nodes {
		if other, taken := names[n.Name]; taken {
			return fmt.Errorf("%w: %s and %s, which are to found a cluster, are both called %q: give each another --node-name",
				agreed.ErrNameTaken, other, n.ID, n.Name)
		}
		names[n.Name] = n.ID
	}
	return nil
}

// decide makes the attempt p found a cluster of these nodes. From then on this node says so by gossip.
func (c *Cluster) decide(p promise, nodes []agreed.Node) error {
	var members []ring.Member
	for _, n := range nodes {
		members = append(members, ring.Member{ID: n.ID, Zone: n.Zone})
	}
	table, err := ring.Assign(nil, members, c.config.Partitions, ring.Replication(len(members), c.config.Replicas))
	if err != nil {
		return err
	}
	what := &agreed.Found{
		Partitions: c.config.Partitions, Replicas: c.config.Replicas,
		Nodes: nodes, Table: table, Limits: c.config.Limits,
	}
	_, _ = rand.Read(what.Cluster[:]) // never fails
	if err := c.record.decide(p, what); err != nil {
		return err
	}
	c.logger.Info("this node founds a cluster", "cluster", what.Cluster, "nodes", len(nodes))
	return nil
}

// void gives an attempt of this node up: on disk first, so that no answer to it counts any more, then the promises are
// released. Who does not hear of it asks.
func (c *Cluster) void(ctx context.Context, p promise) error {
	if err := c.record.release(p); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, m := range c.gossip.All() {
		if m.Alive {
			all.Go(func() { _, _ = message.Call[message.Nothing](ctx, c.config.Peers, m.GRPC, message.KindRelease, p) })
		}
	}
	all.Wait()
	return nil
}

// askFounder asks the node that has this one's promise what has become of the attempt.
func (c *Cluster) askFounder(ctx context.Context, p promise) (founded bool, err error) {
	founder, known := c.gossip.Find(p.Founder)
	if !known || !founder.Alive {
		c.warnOfFounder(p, "it is not here")
		return false, nil
	}
	s, err := message.Call[attemptState](ctx, c.config.Peers, founder.GRPC, message.KindAttempt, p)
	switch {
	case err != nil:
		c.warnOfFounder(p, err.Error())
		return false, nil
	case s.Void:
		return false, c.record.release(p)
	}
	if s.Cluster == "" {
		return false, nil
	}
	c.chosen.Store(s.Cluster)
	return true, nil
}

func (c *Cluster) warnOfFounder(p promise, why string) {
	if c.seldom.Allow("founder " + p.Founder.String()) {
		c.logger.Warn("this node has promised to found a cluster with a node that does not answer: start that node again; "+
			"if it is gone for ever, start this one with an empty data directory", "node", p.Founder, "why", why)
	}
}

// bootstrap gives raft its first voters, if this node founds and has not done so yet.
func (c *Cluster) bootstrap(what *agreed.Found) error {
	if what == nil || len(c.agreement.Servers()) > 0 {
		return nil
	}
	if err := c.config.tuning.step("before bootstrap"); err != nil {
		return err
	}
	var voters []consensus.Server
	for _, n := range what.Nodes {
		voters = append(voters, consensus.Server{ID: n.ID, Address: n.Raft, Voter: true})
	}
	if err := c.agreement.Bootstrap(voters); err != nil {
		return err
	}
	return c.config.tuning.step("after bootstrap")
}

// proposeFound has the cluster founded that this node has decided on, unless that is done.
func (c *Cluster) proposeFound(ctx context.Context, what *agreed.Found) error {
	if what == nil || c.agreement.State().Founded() {
		return nil
	}
	if err := c.config.tuning.step("before found"); err != nil {
		return err
	}
	if _, err := message.AskLeader[message.Nothing](ctx, c.leader, message.KindFound, what); err != nil {
		return err
	}
	return c.config.tuning.step("after found")
}

// answerFound proposes the command found, on the leader, for the founder.
func (c *Cluster) answerFound(ctx context.Context, what agreed.Found) (message.Nothing, error) {
	return message.Nothing{}, c.agreement.Propose(ctx, agreed.Command{Found: &what})
}

// belongsTo is the id of the cluster that this node knows to be its own, in hexadecimal; empty while it knows of none.
func (c *Cluster) belongsTo() string {
	s, f := c.agreement.State(), c.record.look()
	switch {
	case s.Founded():
		return s.Cluster.String()
	case f.Member != nil:
		return f.Member.String()
	case f.Decided != nil:
		return f.Decided.Cluster.String()
	}
	chosen, _ := c.chosen.Load().(string)
	return chosen
}
