package consensus

import (
	"errors"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// An inbox hands the calls of other nodes to the raft that runs, and refuses them while none does. Otherwise they would wait for the raft that runs
// next, and their senders for an answer.
type inbox struct {
	ended chan struct{}
	done  sync.WaitGroup

	mu    sync.Mutex
	calls chan raft.RPC // which the raft that runs reads; nil while none does
	shut  chan struct{} // closed when that one stops
}

func newInbox(calls <-chan raft.RPC) *inbox {
	b := &inbox{ended: make(chan struct{})}
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

// open lets calls in: raft is about to run.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.shut = make(chan raft.RPC), make(chan struct{})
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

// consumer is what the raft that is about to run reads.
func (b *inbox) consumer() <-chan raft.RPC {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

var errNotRunning = errors.New("raft does not run on this node")

// take hands a call over, or refuses it.
func (b *inbox) take(call raft.RPC) {
	b.mu.Lock()
	calls, shut := b.calls, b.shut
	b.mu.Unlock()
	if calls == nil {
		go refuse(call)
		return
	}
	select {
	case calls <- call:
	case <-shut:
		go refuse(call)
	case <-b.ended:
	}
}

// refuse answers a call with an error. A snapshot has to be read to its end before: it comes on the connection on which the next call does.
func refuse(call raft.RPC) {
	if call.Reader != nil {
		_, _ = io.Copy(io.Discard, call.Reader) // an error means that the connection has ended
	}
	call.Respond(nil, errNotRunning)
}
