package consensus

import (
	"errors"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// An inbox hands the calls of other nodes to the raft that runs, and refuses them while none does. What a node sent before a forced recovery may arrive
// during it, or long after: a call that waited for raft would be read by the one that runs then, as the continuation of a log that has ended. For
// the same reason it refuses nodes that are no more of the cluster. It answers with an error, and never with raft's term, by which they would lead again.
type inbox struct {
	removed func(sender raft.ServerID) bool
	ended   chan struct{}
	done    sync.WaitGroup

	mu    sync.Mutex
	next  chan raft.RPC // which the raft reads that is about to run
	calls chan raft.RPC // which the raft that runs reads; nil while none does
	shut  chan struct{} // closed when that one stops
}

func newInbox(calls <-chan raft.RPC, removed func(raft.ServerID) bool) *inbox {
	b := &inbox{removed: removed, ended: make(chan struct{})}
	b.done.Go(func() {
		for {
			select {
			case call := <-calls:
				b.take(call)
			case <-b.ended:
				return
			}
		}
	})
	return b
}

// consumer is what the raft that is about to run reads.
func (b *inbox) consumer() <-chan raft.RPC {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = make(chan raft.RPC)
	return b.next
}

// open lets calls in: raft runs, and what it has stored is known.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.shut = b.next, make(chan struct{})
}

// close refuses all calls from now on, those too that wait.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls != nil {
		close(b.shut)
		b.calls, b.shut = nil, nil
	}
}

// end ends the inbox.
func (b *inbox) end() {
	close(b.ended)
	b.done.Wait()
}

var (
	errNotRunning = errors.New("raft does not run on this node")
	errRemoved    = errors.New("the node was removed from the cluster, or is named as lost")
)

// take hands a call over, or refuses it.
func (b *inbox) take(call raft.RPC) {
	b.mu.Lock()
	calls, shut := b.calls, b.shut
	b.mu.Unlock()
	switch {
	case calls == nil:
		go refuse(call, errNotRunning)
		return
	case b.fromRemoved(call):
		go refuse(call, errRemoved)
		return
	}
	select {
	case calls <- call:
	case <-shut:
		go refuse(call, errNotRunning)
	case <-b.ended:
	}
}

func (b *inbox) fromRemoved(call raft.RPC) bool {
	m, has := call.Command.(raft.WithRPCHeader)
	return has && b.removed(raft.ServerID(m.GetRPCHeader().ID))
}

// refuse answers a call with an error. A snapshot has to be read to its end before: it comes on the connection on which the next call does.
func refuse(call raft.RPC, why error) {
	if call.Reader != nil {
		_, _ = io.Copy(io.Discard, call.Reader) // an error means that the connection has ended
	}
	call.Respond(nil, why)
}
