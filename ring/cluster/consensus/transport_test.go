package consensus

import (
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// faultyTransport reaches nobody.
type faultyTransport struct {
	raft.Transport
	mu sync.Mutex
	up bool
}

func (f *faultyTransport) call() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up {
		return nil
	}
	return errInjected
}

func (f *faultyTransport) AppendEntries(raft.ServerID, raft.ServerAddress, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) error {
	return f.call()
}

func (f *faultyTransport) InstallSnapshot(raft.ServerID, raft.ServerAddress, *raft.InstallSnapshotRequest, *raft.InstallSnapshotResponse, io.Reader) error {
	return f.call()
}

func TestFailedCallsAreHeldUp(t *testing.T) {
	entries := &raft.AppendEntriesRequest{PrevLogEntry: 3, Entries: []*raft.Log{{Index: 4}}}
	for name, test := range map[string]struct {
		free func(*transport, *faultyTransport)
		want time.Duration // until the calls end
	}{
		"until a heartbeat": {func(tr *transport, f *faultyTransport) {
			f.mu.Lock()
			f.up = true
			f.mu.Unlock()
			if err := tr.AppendEntries("b", "", &raft.AppendEntriesRequest{}, nil); err != nil {
				t.Error(err)
			}
		}, time.Second},
		"not until another's": {func(tr *transport, _ *faultyTransport) { tr.reached("c") }, holdUpTime},
		"nor by one that fails": {func(tr *transport, _ *faultyTransport) {
			if err := tr.AppendEntries("b", "", &raft.AppendEntriesRequest{}, nil); !errors.Is(err, errInjected) {
				t.Error(err)
			}
		}, holdUpTime},
		"until it leads no more": {func(tr *transport, _ *faultyTransport) { tr.release() }, time.Second},
		"until raft ends":        {func(tr *transport, _ *faultyTransport) { tr.setClosing(true) }, time.Second},
		"not for ever":           {func(*transport, *faultyTransport) {}, holdUpTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &faultyTransport{}
				tr := &transport{Transport: f, held: map[raft.ServerID]chan struct{}{}}
				start := time.Now()
				var calls sync.WaitGroup
				calls.Go(func() {
					if err := tr.AppendEntries("b", "", entries, nil); !errors.Is(err, errInjected) {
						t.Errorf("the error is %v", err)
					}
				})
				calls.Go(func() {
					if err := tr.InstallSnapshot("b", "", nil, nil, nil); !errors.Is(err, errInjected) {
						t.Errorf("the error is %v", err)
					}
				})
				<-time.After(time.Second) // of the bubble
				synctest.Wait()
				test.free(tr, f)
				calls.Wait()
				if took := time.Since(start); took != test.want {
					t.Errorf("held up for %s, want %s", took, test.want)
				}
			})
		})
	}
}

func TestNothingIsHeldUpAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{Transport: &faultyTransport{}, held: map[raft.ServerID]chan struct{}{}}
		tr.setClosing(true)
		tr.release()
		start := time.Now()
		tr.holdUp("b")
		if took := time.Since(start); took != 0 {
			t.Errorf("held up for %s", took)
		}
	})
}

// TestNothingIsPipelined asks for the way to replicate in which a follower's refusal keeps raft from ever ending.
func TestNothingIsPipelined(t *testing.T) {
	a := newAgreements(t, testKey(t, "a secret of a good length")).founded(1)
	if _, err := a.transport.AppendEntriesPipeline("b", "127.0.0.1:1"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
		t.Errorf("got %v, want %v", err, raft.ErrPipelineReplicationNotSupported)
	}
}
