package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// Power is cut at any operation of founding: one cluster comes of it, and no promise is forgotten.
func TestPowerCutsWhileFounding(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := r.founders()
	for _, s := range nodes {
		s.startTrapped(1+r.intN(40), []func(operation) bool{ofCluster, anything}[r.intN(2)])
	}
	ready(nodes...)
	for _, s := range nodes {
		s.disarm() // from here on, nothing starts a node again whose trap shuts late
	}
	ready(nodes...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	cuts := 0
	id := nodes[0].state().Cluster
	for _, s := range nodes {
		cuts += s.cuts
		if other := s.state().Cluster; other != id {
			t.Errorf("node %s is in cluster %s, and %s in %s", s.cfg.Name, other, nodes[0].cfg.Name, id)
		}
	}
	l := r.load(10)
	l.admitted(10)
	powerCut(nodes...) // and once more, with nothing but what was synced
	started(nodes...)
	if now := nodes[0].state().Cluster; now != id {
		t.Errorf("cluster %s was founded, and after a power cut it is %s", id, now)
	}
	l.held()
	r.untouched()
	t.Logf("the power was cut %d times while a cluster was founded", cuts)
}

// What a member knows of its cluster is durable once it decides, down to the names of the directories: a node that came up
// without it would found another cluster, or be refused.
func TestMembershipIsDurable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.seat()
	none := 0
	s.percent = &none
	started(s)
	before := s.state()
	id := s.present().node.member.id
	for range 2 {
		powerCut(s)
		started(s)
		if now := s.state(); now.Cluster != before.Cluster || s.present().node.member.id != id {
			t.Errorf("node %s in cluster %s is node %s in cluster %s after a power cut",
				id, before.Cluster, s.present().node.member.id, now.Cluster)
		}
	}
	r.untouched()
}

// An old copy of a disk is given up, and its node joins as a new one, also when the power is cut in the middle of that; the
// same node learns the addresses to join only from what it knew.
func TestOldCopies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(30)
	l.admitted(10)
	old := nodes[r.intN(3)]
	copied := old.present().disk.copied()
	powerCut(old)
	started(old)
	l.admitted(30)
	powerCut(old)
	old.restore(copied)
	old.cfg.Join, old.cfg.Expect = nil, 0
	started(old)
	r.eventually("the old copy's place is taken", arrived(3, 3, nodes...))
	if old.renewed == 0 {
		t.Errorf("an old copy was not noticed")
	}
	l.held()
	t.Logf("it was given up %d times", old.renewed)
}

// A copy that was made while its node was a whole cluster knows of no other voter. Started when the cluster has grown, it
// asks at the addresses that it is to join before it takes its own word for it.
func TestOldCopyOfAClusterOfOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := started(r.seat())[0]
	l := r.load(30)
	l.admitted(30)
	copied := first.present().disk.copied()
	nodes := []*seat{first, r.seat().joins(first), r.seat().joins(first)}
	first.joins(nodes...)
	started(nodes[1:]...)
	r.eventually("three nodes have all partitions", arrived(3, 3, nodes...))
	powerCut(first)
	started(first) // its mark rises, as it does every minute
	l.admitted(30)
	powerCut(first)
	first.restore(copied)
	started(first)
	r.eventually("the old copy's place is taken", arrived(3, 3, nodes...))
	if first.renewed == 0 || first.renewed > 1+first.halved {
		t.Errorf("the old copy was given up %d times, and in %d of them the power was cut", first.renewed, first.halved)
	}
	l.held()
}

// A forced recovery in the middle of which the power is cut is asked for again, and leads to a cluster that serves.
func TestPowerCutsWhileRecovering(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(20)
	l.admitted(30)
	powerCut(nodes[1:]...)
	for _, s := range nodes[1:] {
		s.wipe()
	}
	left := nodes[0]
	left.trap(left.present(), 1+r.intN(30), []func(operation) bool{ofCluster, anything}[r.intN(2)])
	var done agreed.Recovery
	r.eventually("the cluster is recovered", func() bool {
		life := left.present()
		if life.node != nil && life.node.member != nil && !life.cut() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			var err error
			done, err = life.node.member.cluster.Recover(ctx, []string{nodes[1].cfg.Name, nodes[2].cfg.Name})
			if err == nil && !life.cut() {
				return true
			}
			if errors.Is(err, agreed.ErrUnknownNode) { // they are gone already
				return true
			}
		}
		if life.cut() {
			left.bury()
			left.start()
		}
		return false
	})
	left.disarm() // from here on, nothing starts it again if its trap shuts late
	ready(left)
	r.eventually("the node that is left has all partitions", arrived(1, 1, left))
	l.held()
	t.Logf("the power was cut %d times; %d partitions begin again with a floor", left.cuts, done.Floored)
}
