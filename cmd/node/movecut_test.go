package node

import (
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

// anything counts every operation.
func anything(operation) bool { return true }

// ofCluster counts the operations on what a node knows of its cluster: promises, raft's log, addresses.
func ofCluster(o operation) bool { return !o.onRegisters() }

// syncs counts what becomes durable.
func syncs(o operation) bool { return o.kind == "sync" }

// cutWhile cuts the power of nodes drawn at random while partitions move, at any time or just before an operation drawn at
// random, so many times or until something holds, and starts them again. It counts in which steps of their moves partitions
// were.
func (r *rig) cutWhile(counted census, most int, what string, holds func() bool) {
	r.t.Helper()
	for range most {
		all := r.seated()
		r.eventually("partitions move", func() bool { return holds() || moving(all) })
		if holds() {
			return
		}
		s := all[r.intN(len(all))]
		l := s.present()
		s.trap(l, 1+r.intN(100), []func(operation) bool{anything, ofCluster, syncs}[r.intN(3)])
		select {
		case <-l.dark:
		case <-time.After(r.between(50*time.Millisecond, 500*time.Millisecond)):
			s.cut()
		}
		cut := []*seat{s}
		if r.intN(3) == 0 {
			for _, other := range all {
				other.cut()
			}
			cut = all
		}
		counted.take(r)
		powerCut(cut...)
		started(cut...)
	}
	r.eventually(what, holds)
}

// moving says whether partitions are about to move, or do.
func moving(seen []*seat) bool {
	for _, s := range seen {
		if st := s.state(); st != nil && st.Table != nil && slices.ContainsFunc(st.Table.Places, ring.Place.Moving) {
			return true
		}
	}
	return false
}

// present is the node's present life, which is opened.
func (s *seat) present() *life {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	<-l.opened
	return l
}

// Power is cut while partitions move: when a cluster of one grows to three and to five, when a lost disk is replaced, and
// when a node is drained.
func TestPowerCutsWhilePartitionsMove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	counted := census{}
	first := started(r.seat())
	l := r.load(40)
	l.admitted(10)
	grown := []*seat{first[0], r.seat().joins(first[0]), r.seat().joins(first[0])}
	first[0].joins(grown...)
	started(grown[1:]...)
	r.cutWhile(counted, 2, "three nodes have all partitions", arrived(3, 3, grown...))
	l.admitted(10)

	lost := grown[1+r.intN(2)]
	powerCut(lost)
	lost.wipe()
	started(lost)
	r.cutWhile(counted, 2, "the new disk has the lost one's partitions", arrived(3, 3, grown...))
	l.admitted(10)
	l.held()
	r.untouched()
	t.Logf("the power was cut while so many partitions were in these steps of their moves:%v", counted)
}
