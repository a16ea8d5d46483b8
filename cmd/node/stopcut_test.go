package node

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Power is cut in the middle of a stop in good order. With registers in memory, as one node has them here, the stop saves
// them: what it had not saved, or not said so, has a floor.
func TestPowerCutsWhileStopping(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := r.founders()
	inMemory(&nodes[r.intN(3)].cfg)
	started(nodes...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(40)
	for range 2 {
		l.admitted(20)
		var stops sync.WaitGroup
		for _, s := range nodes {
			s.trap(s.present(), 1+r.intN(40), anything)
			stops.Go(s.stopCut)
		}
		stops.Wait()
		started(nodes...)
	}
	l.held()
	r.untouched()
	cuts := 0
	for _, s := range nodes {
		cuts += s.cuts
	}
	t.Logf("%d of 6 stops were cut short", cuts)
}

// stopCut stops a node in good order, and buries it if its power is cut meanwhile.
func (s *seat) stopCut() {
	l := s.present()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.stop() // without power it fails
	}()
	select {
	case <-done:
	case <-l.dark:
		s.bury()
		<-done
	}
}

// Registers in memory are lost with the power: no bucket may be fuller than it was, and after a while all is served again.
func TestPowerCutsInMemoryMode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := started(r.founders(inMemory)...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(40)
	l.admitted(60)
	one := nodes[r.intN(3)]
	powerCut(one)
	l.admitted(10)
	started(one)
	l.admitted(10)
	powerCut(nodes...)
	started(nodes...)
	l.admitted(10) // of the limit that fills soon
	l.held()
	r.untouched()
}

// A node whose disk fails stops and says so; the others go on; and it comes back when the disk is well again. Writes fail in
// both ways: they failed, and they failed but happened.
func TestWritesFail(t *testing.T) {
	for what, of := range map[string]func(operation) bool{"the journal": journal, "raft's log": raftLog} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			nodes := r.founders()
			bad, other := nodes[0], nodes[1]
			var flawed atomic.Pointer[flaw]
			bad.fault = func(o operation) *flaw {
				if f := flawed.Load(); f != nil && of(o) {
					return f
				}
				return nil
			}
			started(nodes...)
			r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
			l := r.load(30)
			for _, f := range []flaw{{err: syscall.ENOSPC}, {err: syscall.EIO, happened: true}} {
				l.admitted(20)
				flawed.Store(&f)
				// So that raft has something to write.
				agreed := other.present().node.member.cluster
				if _, err := agreed.SetLimits(t.Context(), agreed.State().LimitsVersion, []byte(limitsText)); err != nil {
					t.Logf("the limits were not set: %v", err)
				}
				node := bad.present().node
				select {
				case <-node.Failed():
				case <-time.After(long):
					t.Fatal("the node goes on with a disk that fails")
				}
				if err := node.Err(); !errors.Is(err, f.err) {
					t.Errorf("the node has failed with %v, want %v", err, f.err)
				}
				t.Log(node.Err())
				l.admitted(20) // by the others
				flawed.Store(nil)
				powerCut(bad)
				started(bad)
			}
			l.held()
			r.untouched()
		})
	}
}
