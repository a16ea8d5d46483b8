package joining

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
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

func (j *Joiner) answerMarks(_ context.Context, q marksRequest) (marksAnswer, error) {
	s := j.agreement.State()
	a := marksAnswer{ID: j.config.Self.ID, Version: s.Version, Servers: j.agreement.Servers(), Removed: s.Removed[q.ID]}
	a.Mark, a.Known = j.agreement.HighestMark(q.ID)
	a.Addresses = map[ring.NodeID]string{}
	for id, at := range j.directory.Contacts() {
		a.Addresses[id] = at.GRPC
	}
	return a, nil
}

// A proof collects what the voters know of this node's marks, until a majority has answered.
type proof struct {
	self   ring.NodeID
	before agreed.Mark // that the disk had before this start
	peers  message.Peers
	gossip *gossip.Gossip

	mu      sync.Mutex
	answers map[ring.NodeID]marksAnswer
	verdict error
}

// prove asks the other nodes, before raft starts, whether the disk is what this node had last: every voter that has accepted a later
// mark has it on its disk, and a majority of the voters has. If the disk is an old copy, or was removed, the error says so.
func (j *Joiner) prove(ctx context.Context) error {
	p := &proof{self: j.config.Self.ID, before: j.config.MarkBefore, peers: j.config.Peers, gossip: j.gossip, answers: map[ring.NodeID]marksAnswer{}}
	own, err := j.answerMarks(ctx, marksRequest{j.config.Self.ID})
	if err != nil {
		return err
	}
	p.note(j.config.Self.ID, own)
	// Every node that can be reached is asked, also if this disk knows of no other voter: it may be a copy from before there were any.
	select {
	case <-j.gossip.Tried():
	case <-j.asserted:
	case <-ctx.Done():
		return ctx.Err()
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		wake := j.gossip.Changed()
		p.ask(ctx)
		missing, verdict := p.missingVoters()
		if verdict != nil || missing == nil {
			return verdict
		}
		who := strings.Join(missing, ", ")
		j.setWaiting("the node waits for a majority of the voters to confirm that its disk is not an old copy: missing " + who)
		if j.throttle.Allow("prove") {
			j.logger.Info("waiting for a majority of the voters to confirm that this node's disk is not an old copy",
				"missing", who)
		}
		select {
		case <-j.asserted:
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
			if a, err := message.Call[marksAnswer](ctx, p.peers, address, message.KindMarks, marksRequest{p.self}); err == nil && a.ID == id {
				p.note(id, a)
			}
		})
	}
	all.Wait()
}

// unasked are the addresses of the nodes that have not answered. Those that gossip tells are the newest.
func (p *proof) unasked() map[ring.NodeID]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := map[ring.NodeID]string{}
	for _, id := range slices.SortedFunc(maps.Keys(p.answers), func(a, b ring.NodeID) int {
		return cmp.Compare(p.answers[a].Version, p.answers[b].Version)
	}) {
		maps.Copy(at, p.answers[id].Addresses)
	}
	for id, other := range p.gossip.All() {
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
	before := p.before
	switch {
	case a.Removed != "":
		p.verdict = RemovedError(p.self, a.Removed)
	case p.verdict == nil && a.Known && a.Mark.Compare(before) > 0:
		p.verdict = fmt.Errorf("%w: its mark was %s when this node started, and node %s has seen %s", message.ErrOldCopy, before, id, a.Mark)
	}
}

// missingVoters are the voters that have not answered; none once a majority has. The voters are those of the newest state in any
// answer.
func (p *proof) missingVoters() (missing []string, verdict error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verdict != nil {
		return nil, p.verdict
	}
	newest := p.answers[p.self]
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
