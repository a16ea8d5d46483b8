package consensus

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	callTimeout = 3 * time.Second // of one raft call, dialing included
	pooledConns = 3               // idle connections kept to each server
	// inFlight of 1 has raft wait for each answer before it sends on. With more, one goroutine sends and another one reads; when a follower
	// refuses, the reader ends, the sender waits for it for ever, and raft cannot be stopped any more (raft 1.7.3, pipelineReplicate).
	inFlight   = 1
	holdUpTime = 60 * time.Second // how long raft does not hear that a server could not be reached
)

// transport carries raft's calls. It outlives a raft that is stopped: raft would close one that has a Close.
//
// It also holds up the error of a call that failed until the server answers heartbeats again. Raft itself doubles its
// wait with every error, up to ten seconds, so a node that was down for a while would catch up that much too late.
type transport struct {
	raft.Transport
	raft.WithPreVote
	network *raft.NetworkTransport
	inbox   *inbox

	mu      sync.Mutex
	held    map[raft.ServerID]chan struct{} // closed when the server answers, or by release
	closing bool                            // nothing is held up
}

// newTransport listens for raft's calls. removed says of a sender that no call of it counts.
func newTransport(config Config, addressOf addressFunc, removed func(raft.ServerID) bool, logger hclog.Logger) *transport {
	s := newStream(config)
	s.start()
	n := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Logger: logger, Stream: s, MaxPool: pooledConns, Timeout: callTimeout, ServerAddressProvider: addressOf,
		MaxRPCsInFlight: inFlight,
	})
	return &transport{Transport: n, WithPreVote: n, network: n, inbox: newInbox(n.Consumer(), removed), held: map[raft.ServerID]chan struct{}{}}
}

// close closes the listener and every connection.
func (t *transport) close() error {
	t.inbox.end()
	t.network.CloseStreams()
	return t.network.Close()
}

// Consumer implements raft.Transport. Each raft asks for it once.
func (t *transport) Consumer() <-chan raft.RPC { return t.inbox.consumer() }

// SetHeartbeatHandler implements raft.Transport. Heartbeats go around the inbox.
func (t *transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	if handle == nil {
		t.Transport.SetHeartbeatHandler(nil)
		return
	}
	t.Transport.SetHeartbeatHandler(func(call raft.RPC) {
		if t.inbox.fromRemoved(call) {
			refuse(call, errRemoved)
			return
		}
		handle(call)
	})
}

// AppendEntries implements raft.Transport.
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	err := t.Transport.AppendEntries(id, target, args, resp)
	switch heartbeat := len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.LeaderCommitIndex == 0; {
	case heartbeat && err == nil:
		t.reached(id)
	case !heartbeat && err != nil:
		t.holdUp(id)
	}
	return err
}

// InstallSnapshot implements raft.Transport.
func (t *transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	err := t.Transport.InstallSnapshot(id, target, args, resp, data)
	if err != nil {
		t.holdUp(id)
	}
	return err
}

// holdUp waits until the server answers a heartbeat, or release, but not for ever: raft may have dropped the server.
func (t *transport) holdUp(id raft.ServerID) {
	t.mu.Lock()
	if t.closing {
		t.mu.Unlock()
		return
	}
	if t.held[id] == nil {
		t.held[id] = make(chan struct{})
	}
	freed := t.held[id]
	t.mu.Unlock()
	timer := time.NewTimer(holdUpTime)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	}
}

// reached lets the calls to a server go on.
func (t *transport) reached(id raft.ServerID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if freed := t.held[id]; freed != nil {
		close(freed)
		delete(t.held, id)
	}
}

// release lets all calls go on, because this node leads no more.
func (t *transport) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, freed := range t.held {
		close(freed)
	}
	clear(t.held)
}

// setClosing says whether calls must not be held up any more, because raft is about to end.
func (t *transport) setClosing(closing bool) {
	t.mu.Lock()
	t.closing = closing
	t.mu.Unlock()
	t.release()
}
