package consensus

import (
	"errors"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// An inbox hands the calls of other nodes to the raft that runs, and refuses them while none does. What a node sent before a forced recovery may arrive
// during it, or long after: a call that waited for raft would be read by the one that runs then, as the continuation of a log that has ended. For
// the same reason it refuses nodes that were removed, once raft has let go of them too.
type inbox struct {
	removed func(sender raft.ServerID) bool
	calls   chan raft.RPC // which raft reads
	ended   chan struct{}
	done    sync.WaitGroup

	mu   sync.Mutex
	shut chan struct{} // closed while raft does not run
}

func newInbox(calls <-chan raft.RPC, removed func(raft.ServerID) bool) *inbox {
	b := &inbox{removed: removed, calls: make(chan raft.RPC), ended: make(chan struct{}), shut: make(chan struct{})}
	close(b.shut)
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

// open lets calls in: raft runs.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = make(chan struct{})
}

// close refuses all calls from now on, those too that wait.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.shut:
	default:
		close(b.shut)
	}
}

// end ends the inbox.
func (b *inbox) end() {
	close(b.ended)
	b.done.Wait()
}

var (
	errNotRunning = errors.New("raft does not run on this node")
	errRemoved    = errors.New("the node was removed from the cluster")
)

// take hands a call over, or refuses it.
func (b *inbox) take(call raft.RPC) {
	b.mu.Lock()
	shut := b.shut
	b.mu.Unlock()
	if b.fromRemoved(call) {
		go refuse(call, errRemoved)
		return
	}
	select {
	case <-shut:
		go refuse(call, errNotRunning)
		return
	default:
	}
	select {
	case b.calls <- call:
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
