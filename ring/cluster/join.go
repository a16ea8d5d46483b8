package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// A marksRequest asks what a node's disk holds of the marks of another.
type marksRequest struct {
	ID ring.NodeID `json:"id"`
}

// marksAnswer answers it from the disk, whether raft runs or not. It tells also whom else to ask.
type marksAnswer struct {
	ID        ring.NodeID            `json:"id"`   // who answers
	Mark      agreed.Mark            `json:"mark"` // the highest, committed or not
	Known     bool                   `json:"known"`
	Removed   string                 `json:"removed,omitempty"` // the name that the node had when it was removed
	Version   uint64                 `json:"version"`           // of the state
	Servers   []consensus.Server     `json:"servers"`
	Addresses map[ring.NodeID]string `json:"addresses"`
}

func (c *Cluster) answerMarks(_ context.Context, q marksRequest) (marksAnswer, error) {
	s := c.agreement.State()
	a := marksAnswer{ID: c.config.ID, Version: s.Version, Servers: c.agreement.Servers(), Removed: s.Removed[q.ID]}
	a.Mark, a.Known = c.agreement.HighestMark(q.ID)
	a.Addresses = map[ring.NodeID]string{}
	for id, at := range c.contacts() {
		a.Addresses[id] = at.GRPC
	}
	return a, nil
}

// A proof collects what the voters know of this node's marks, until a majority has answered.
type proof struct {
	c *Cluster

	mu      sync.Mutex
	answers map[ring.NodeID]marksAnswer
	verdict error
}

// prove asks, before raft starts, whether the disk is what this node had last: whoever has accepted a later mark of it has
// that on disk, and a majority of the voters has. If the disk is an old copy, or was removed, the error says so.
func (c *Cluster) prove(ctx context.Context) error {
	p := &proof{c: c, answers: map[ring.NodeID]marksAnswer{}}
	own, err := c.answerMarks(ctx, marksRequest{c.config.ID})
	if err != nil {
		return err
	}
	p.note(c.config.ID, own)
	// Whoever can be met is asked, also where this disk knows of no other voter: it may be a copy from before there were any.
	select {
	case <-c.gossip.Tried():
	case <-c.asserted:
	case <-ctx.Done():
		return ctx.Err()
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		wake := c.gossip.Changed()
		p.ask(ctx)
		missing, verdict := p.judge()
		if verdict != nil || missing == nil {
			return verdict
		}
		who := strings.Join(missing, ", ")
		c.wait("it was a member, and waits for a majority of the voters to say whether its disk is an old copy: missing " + who)
		if c.seldom.Allow("prove") {
			c.logger.Info("this node was a member and asks the voters whether its disk is an old copy; it waits for a majority of them",
				"missing", who)
		}
		select {
		case <-c.asserted:
			return nil
		default:
		}
		if _, err := message.Pause(ctx, wait, wake); err != nil {
			return err
		}
	}
}

// ask asks all who have not answered yet.
func (p *proof) ask(ctx context.Context) {
	var all sync.WaitGroup
	for id, address := range p.unasked() {
		all.Go(func() {
			if a, err := message.Call[marksAnswer](ctx, p.c.config.Peers, address, message.KindMarks, marksRequest{p.c.config.ID}); err == nil && a.ID == id {
				p.note(id, a)
			}
		})
	}
	all.Wait()
}

// unasked are the addresses of those who have not answered. What gossip says of them is newest.
func (p *proof) unasked() map[ring.NodeID]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := map[ring.NodeID]string{}
	for _, id := range slices.SortedFunc(maps.Keys(p.answers), func(a, b ring.NodeID) int {
		return cmp.Compare(p.answers[a].Version, p.answers[b].Version)
	}) {
		maps.Copy(at, p.answers[id].Addresses)
	}
	for id, other := range p.c.gossip.All() {
		if other.Alive {
			at[id] = other.GRPC
		}
	}
	maps.DeleteFunc(at, func(id ring.NodeID, _ string) bool { _, answered := p.answers[id]; return answered })
	return at
}

// note takes an answer.
func (p *proof) note(id ring.NodeID, a marksAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[id] = a
	before := p.c.config.MarkBefore
	switch {
	case a.Removed != "":
		p.verdict = removedText(p.c.config.ID, a.Removed)
	case p.verdict == nil && a.Known && a.Mark.Compare(before) > 0:
		p.verdict = fmt.Errorf("%w: it had mark %s when this node started, and node %s has seen %s", message.ErrOldCopy, before, id, a.Mark)
	}
}

// judge says which voters are missing; none when a majority of them has answered. The voters are those of the newest state
// that anybody has told of.
func (p *proof) judge() (missing []string, verdict error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verdict != nil {
		return nil, p.verdict
	}
	newest := p.answers[p.c.config.ID]
	for _, a := range p.answers {
		if a.Version > newest.Version && len(a.Servers) > 0 {
			newest = a
		}
	}
	voters, answered := 0, 0
	for _, s := range newest.Servers {
		if !s.Voter {
			continue
		}
		voters++
		if _, has := p.answers[s.ID]; has {
			answered++
		} else {
			missing = append(missing, fmt.Sprintf("%s (%s)", s.ID, newest.Addresses[s.ID]))
		}
	}
	if answered >= ring.Majority(voters) {
		return nil, nil
	}
	return missing, nil
}

// settle makes this node a member whose mark is raised, and waits until this node has heard that itself. Raft runs.
func (c *Cluster) settle(ctx context.Context) error {
	if err := c.enroll(ctx); err != nil {
		return err
	}
	if c.config.Confirm != nil { // the voters, or the leader, have found no higher mark
		if err := c.config.Confirm(ctx); err != nil {
			return err
		}
	}
	if err := c.raiseMark(ctx, c.config.Mark); err != nil {
		return err
	}
	for {
		changed := c.Changed()
		if c.State().Nodes[c.config.ID].Process == c.process {
			return c.record.belong(c.State().Cluster)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// enrollsWithin is how long it may take until the leader has let a node in before that is worth a line in the log: nodes that start
// together wait for one another's ports.
const enrollsWithin = 3 * time.Second

// enroll has the leader let this node in. What may still pass is tried again for a while: the node whose name this one has
// may be dead and not known to be, and this node's ports may be on their way.
func (c *Cluster) enroll(ctx context.Context) error {
	var since time.Time
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_, err := message.AskLeader[message.Nothing](ctx, c.leader, message.KindJoin, joinRequest{Node: c.self(), Before: c.config.MarkBefore})
		passing := errors.Is(err, agreed.ErrNameTaken) || errors.Is(err, message.ErrUnreachable) || errors.Is(err, agreed.ErrTooFew)
		switch {
		case !passing && !errors.Is(err, agreed.ErrStale):
			return err
		case since.IsZero():
			since = time.Now()
		case passing && time.Since(since) > c.config.tuning.patience:
			return err
		}
		c.wait("the cluster does not let it in yet: " + err.Error())
		if time.Since(since) > enrollsWithin && c.seldom.Allow("enroll") {
			c.logger.Warn("the cluster does not let this node in yet", "error", err)
		}
		if _, err := message.Pause(ctx, wait, nil); err != nil {
			return err
		}
	}
}

// A markRequest asks the leader to raise a node's mark.
type markRequest = agreed.RaiseMark

func (c *Cluster) answerMark(ctx context.Context, q markRequest) (message.Nothing, error) {
	return message.Nothing{}, c.agreement.Propose(ctx, agreed.Command{Mark: &q})
}

// raiseMark has the cluster agree on this node's mark. If another process has raised the same or a higher one, it runs on
// a copy of this disk.
func (c *Cluster) raiseMark(ctx context.Context, m agreed.Mark) error {
	_, err := message.AskLeader[message.Nothing](ctx, c.leader, message.KindMark, agreed.RaiseMark{ID: c.config.ID, Mark: m, Process: c.process})
	if errors.Is(err, agreed.ErrMarkNotHigher) {
		return fmt.Errorf("%w (node %s, %q): stop the other one, and give each its own data directory, empty at first: %w",
			message.ErrDiskInUse, c.config.ID, c.config.Name, err)
	}
	return err
}

// followMarks has the cluster agree on each later mark, and on the present one when another process claims to be this
// node. Only the newest matters.
func (c *Cluster) followMarks(ctx context.Context) error {
	m := c.config.Mark
	for {
		select {
		case <-ctx.Done():
			return nil
		case m = <-c.config.NewMarks:
		case <-c.twin:
		}
		try, cancel := context.WithTimeout(ctx, 2*message.LeadTime)
		err := c.raiseMark(try, m)
		cancel()
		if errors.Is(err, message.ErrDiskInUse) || errors.Is(err, agreed.ErrRemoved) || errors.Is(err, agreed.ErrUnknownNode) {
			return err
		}
	}
}
