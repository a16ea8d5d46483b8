package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// timeVariable names the environment variable that says how long the random mix lasts, 4s if it is not set.
const timeVariable = "JETON_TEST_TIME"

// A mix does things to the nodes of a rig that are drawn at random.
type mix struct {
	*rig
	counted census
	done    map[string]int
	copies  map[*seat]backup
	leaving *seat // the node that was last to be removed
}

// A backup is a copy of a disk, and how often the node had been started when it was made.
type backup struct {
	platter *vfs.MemFS
	starts  int
}

// A random mix of power cuts, of one node and of all, at any time and at operations drawn at random, of stops in good
// order, lost disks, restored old copies, and nodes that join and leave.
func TestRandomMix(t *testing.T) {
	t.Parallel()
	length := 4 * time.Second
	if text := os.Getenv(timeVariable); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", timeVariable, err)
		}
	}
	r := newRig(t)
	m := &mix{rig: r, counted: census{}, done: map[string]int{}, copies: map[*seat]backup{}}
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	l := r.load(40 + int(length/time.Second)*20)
	for end := time.Now().Add(length); time.Now().Before(end); {
		m.act()
		pass(r.between(0, 600*time.Millisecond))
		m.tend()
	}
	for _, s := range r.seated() {
		s.disarm() // after the last look at them, nothing starts nodes again
	}
	ready(r.seated()...)
	r.eventually("all partitions are where they are to be", func() bool {
		m.tend() // a trap may shut late, on a slow machine
		return arrived(len(r.seated()), 3, r.seated()...)()
	})
	l.held()
	t.Logf("done: %v", m.done)
	t.Logf("the power was cut while so many partitions were in these steps of their moves:%v", m.counted)
}

// whole says whether all nodes take checks and every partition is where it is to be: then one disk may be lost.
func (m *mix) whole() bool {
	for _, s := range m.seated() {
		if n, _ := s.running(); n == nil || n.Ready() != nil {
			return false
		}
	}
	return arrived(len(m.seated()), 3, m.seated()...)()
}

// act does one thing.
func (m *mix) act() {
	all := m.seated()
	s := all[m.intN(len(all))]
	kinds := []string{"cut one", "cut one", "cut all", "trap", "trap", "stop", "lose a disk", "restore a copy", "copy", "copy", "grow", "shrink"}
	kind := kinds[m.intN(len(kinds))]
	switch kind {
	case "cut one":
		m.cutOne(s)
	case "cut all":
		m.counted.take(m.rig)
		powerCut(all...)
		for _, s := range all {
			m.restart(s)
		}
	case "trap":
		if _, l := s.running(); l != nil {
			s.trap(l, 1+m.intN(150), []func(operation) bool{anything, ofCluster, syncs}[m.intN(3)])
		}
	case "stop":
		if n, _ := s.running(); n == nil {
			return
		}
		s.stopCut()
		m.restart(s)
	case "lose a disk", "restore a copy":
		copied, has := m.copies[s]
		if !m.whole() || kind == "restore a copy" && (!has || copied.starts >= s.starts) {
			return
		}
		powerCut(s)
		if kind == "restore a copy" {
			s.restore(copied.platter)
		} else {
			s.wipe()
		}
		delete(m.copies, s)
		m.restart(s)
	case "copy":
		if n, l := s.running(); n != nil && n.Ready() == nil {
			m.copies[s] = backup{platter: l.disk.copied(), starts: s.starts}
		}
	case "grow":
		if len(all) >= 5 || !m.whole() {
			return
		}
		added := m.seat().joins(all...)
		for _, s := range m.seated() {
			s.joins(m.seated()...)
		}
		added.cfg.Expect = 0
		m.restart(added)
	case "shrink":
		if len(all) < 4 || !m.whole() {
			return
		}
		m.shrink(s)
	}
	m.done[kind]++
}

func (m *mix) cutOne(s *seat) {
	s.cut()
	m.counted.take(m.rig)
	powerCut(s)
	pass(m.between(0, 300*time.Millisecond))
	m.restart(s)
}

// restart starts a node that does not run, on a disk that may have its power cut soon.
func (m *mix) restart(s *seat) {
	if m.intN(4) == 0 {
		s.startTrapped(1+m.intN(120), []func(operation) bool{anything, ofCluster}[m.intN(2)])
		return
	}
	s.start()
}

// shrink takes a node out of the cluster, with all that it keeps moved off it. Traps may shut meanwhile.
func (m *mix) shrink(s *seat) {
	m.leaving = s
	drained := false
	m.eventually(fmt.Sprintf("node %s is drained and removed", s.cfg.Name), func() bool {
		m.tend()
		others := slices.DeleteFunc(slices.Clone(m.seated()), func(o *seat) bool { return o == s })
		n, _ := others[m.intN(len(others))].running()
		if n == nil {
			return false
		}
		ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Second)
		defer cancel()
		if !drained {
			_, err := n.member.cluster.Drain(ctx, s.cfg.Name)
			drained = err == nil
			return false
		}
		err := n.member.cluster.Remove(ctx, s.cfg.Name, false)
		return err == nil || errors.Is(err, agreed.ErrUnknownNode) // removed by a request whose answer was lost
	})
	s.end()
	m.mu.Lock()
	m.seats = slices.DeleteFunc(slices.Clone(m.seats), func(o *seat) bool { return o == s })
	m.mu.Unlock()
	for _, o := range m.seated() {
		o.joins(m.seated()...)
	}
}

// tend starts nodes again whose power was cut by a trap, and gives new disks to those that found an old copy.
func (m *mix) tend() {
	for _, s := range m.seated() {
		s.mu.Lock()
		l := s.life
		s.mu.Unlock()
		if l == nil {
			continue
		}
		select {
		case <-l.dark:
			m.counted.take(m.rig)
			s.bury()
			m.restart(s)
			continue
		case <-l.opened:
		default:
			continue
		}
		switch why := l.ended(); {
		case why == nil || l.cut():
		case s == m.leaving && errors.Is(why, agreed.ErrRemoved): // and the answer was lost
		case errors.Is(why, ErrOldCopy):
			if err := s.renew(); err != nil {
				m.t.Errorf("node %s: %v", s.cfg.Name, err)
			}
		default:
			m.t.Errorf("node %s: %v", s.cfg.Name, why)
		}
	}
}

// ended is why a node that was opened has ended by itself, or nil.
func (l *life) ended() error {
	if l.err != nil {
		return l.err
	}
	return l.node.Err()
}
