package consensus

import (
	"context"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// leadership is whether this node leads, until changed is closed.
type leadership struct {
	leading bool
	changed chan struct{}
}

// Leading says whether this node leads and has applied everything that was committed before its term; the channel is
// closed when that changes, or when a new term of its own begins.
func (a *Agreement) Leading() (bool, <-chan struct{}) {
	l := a.leads.Load()
	return l.leading, l.changed
}

// Leader is the node that leads as far as this one knows.
func (a *Agreement) Leader() (id ring.NodeID, isSelf, known bool) {
	r := a.running.Load()
	if r == nil {
		return ring.NodeID{}, false, false
	}
	_, name := r.LeaderWithID()
	id, err := ring.ParseNodeID(string(name))
	if err != nil {
		return ring.NodeID{}, false, false
	}
	return id, id == a.config.ID, true
}

// Runs says whether raft runs.
func (a *Agreement) Runs() bool { return a.running.Load() != nil }

// WhileLeading calls run each time that this node begins to lead, with a context that ends when it does not lead any
// more, and returns when ctx has ended and run has returned. If run returns early it is not called again in that term.
func (a *Agreement) WhileLeading(ctx context.Context, run func(ctx context.Context)) {
	for ctx.Err() == nil {
		leading, changed := a.Leading()
		if leading {
			term, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				select {
				case <-changed:
				case <-term.Done():
				}
				cancel()
			}()
			run(term)
			cancel()
			<-ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// watch follows the leadership of one raft until ctx ends. It announces a term only once a barrier has passed: before
// that, the state may lack what earlier leaders committed.
func (a *Agreement) watch(ctx context.Context, r *raft.Raft) {
	defer a.announce(false)
	for {
		select {
		case <-ctx.Done():
			return
		case leads := <-r.LeaderCh():
			a.announce(false) // also between two terms of this node
			if !leads {
				a.transport.release()
			}
			if leads && a.awaitBarrier(r) {
				a.announce(true)
			}
		}
	}
}

// awaitBarrier waits until what was committed before this term is applied, and says whether this node still leads.
func (a *Agreement) awaitBarrier(r *raft.Raft) bool {
	for r.State() == raft.Leader {
		if err := r.Barrier(enqueueTimeout).Error(); err == nil {
			return true
		}
	}
	return false
}

// announce publishes whether this node leads.
func (a *Agreement) announce(leading bool) {
	old := a.leads.Load()
	if old.leading != leading {
		a.leads.Store(&leadership{leading: leading, changed: make(chan struct{})})
		close(old.changed)
	}
}

// electSelf has this node, the only voter, lead at once: it tells itself, as a leader would that hands over to it, to wait
// for no election timeout. If that message does not arrive, the timeout passes.
func (a *Agreement) electSelf() {
	request := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax,
		ID:              []byte(a.config.ID.String()),
		Addr:            []byte(a.config.Advertise),
	}}
	var response raft.TimeoutNowResponse
	err := a.transport.TimeoutNow(serverID(a.config.ID), raft.ServerAddress(a.config.Advertise), &request, &response)
	if err != nil {
		a.logger.Debug("this node waits for an election timeout before it leads", "error", err)
	}
}

// alone says whether this node is the only voter.
func (a *Agreement) alone() bool {
	self, others := false, false
	for _, s := range a.Servers() {
		self = self || s.Voter && s.ID == a.config.ID
		others = others || s.Voter && s.ID != a.config.ID
	}
	return self && !others
}

// handOver gives the leadership to another voter, so that this node can stop or cease to vote without an election
// timeout.
func (a *Agreement) handOver(ctx context.Context) error {
	r := a.running.Load()
	if r == nil {
		return agreed.ErrNotLeader
	}
	return await(ctx, r.LeadershipTransfer())
}

// PassOn gives the leadership away, if this node has it and another one can take it.
func (a *Agreement) PassOn(ctx context.Context) {
	if leading, _ := a.Leading(); leading && !a.alone() {
		if err := a.handOver(ctx); err != nil {
			a.logger.Debug("the leadership transfer failed; the other voters elect a leader after a timeout", "error", err)
		}
	}
}
