package consensus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A sickStore is one whose writes of the term and the vote fail from some time on: they failed, or they failed but
// happened.
type sickStore struct {
	RaftStore
	sick     *atomic.Bool
	happened bool
}

func (s sickStore) Set(key, value []byte) error {
	return s.write(func() error { return s.RaftStore.Set(key, value) })
}

func (s sickStore) SetUint64(key []byte, value uint64) error {
	return s.write(func() error { return s.RaftStore.SetUint64(key, value) })
}

func (s sickStore) write(write func() error) error {
	if !s.sick.Load() {
		return write()
	}
	if s.happened {
		if err := write(); err != nil {
			return err
		}
	}
	return syscall.EIO
}

// A node that cannot write its term or its vote is told so, and stops: raft by itself would end the process with a panic.
func TestTermsThatCannotBeWritten(t *testing.T) {
	for _, happened := range []bool{false, true} {
		t.Run(fmt.Sprintf("happened %v", happened), func(t *testing.T) { testSickTerm(t, happened) })
	}
}

func testSickTerm(t *testing.T, happened bool) {
	t.Helper()
	g := newAgreements(t, nil)
	var sick atomic.Bool
	g.change = func(i int, config *Config) {
		if i != 2 {
			return
		}
		config.OpenRaft = func(dir string) (RaftStore, error) {
			store, err := openFiles(dir, hclog.NewNullLogger())
			return sickStore{RaftStore: store, sick: &sick, happened: happened}, err
		}
	}
	g.founded(3)
	g.propose(raise(1, 250))
	sick.Store(true)
	leader := g.leader()
	ctx, cancel := context.WithCancel(g.ctx)
	var handing sync.WaitGroup
	if leader == g.open[2] {
		handing.Go(func() {
			for ctx.Err() == nil && len(leader.Failed()) == 0 && leader.handOver(ctx) != nil { // whoever takes over has a later term
				select {
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	for _, i := range []int{1, 3} {
		if g.open[i] == leader {
			g.kill(i) // the next leader has a later term
		}
	}
	select {
	case err := <-g.open[2].Failed():
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("the node has failed with %v", err)
		}
		t.Log(err)
	case <-g.ctx.Done():
		t.Error("the node goes on")
	}
	cancel()
	handing.Wait()
	sick.Store(false)
	g.kill(2)
	sick.Store(true)
	if err := g.node(2).Start(); err == nil { // raft writes its term when it begins
		t.Error("raft runs, and its term was not written")
	} else {
		t.Log(err)
	}
}
