package cluster

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/health"
)

// TestDecidingOfThree: a cluster of three says what it can decide when one node is lost, when two are, and when they are back.
func TestDecidingOfThree(t *testing.T) {
	r := newRig(t)
	all := r.chairs(3)
	expecting(3, all...)
	startAll(all...)
	a := all[0]
	says := func(want string) func() bool {
		return func() bool { return a.cluster.Deciding().String() == want }
	}
	a.soon("all is well", says("every key can be decided"))
	all[1].stop()
	a.soon("one does not answer, and every key can be decided without it", func() bool {
		s := a.cluster.Status(t.Context())
		return s.Nodes[1].Answering == health.Unreachable && s.Nodes[1].SilentSeconds > 0 && s.Deciding.String() == "every key can be decided"
	})
	all[2].stop()
	a.soon("nothing is decided", says("no key can be decided: 2 of 3 nodes do not answer: b and c"))
	a.says("WARN", "no key can be decided")
	if d := a.cluster.Deciding(); d.Verdict != ring.DecidesNone || d.Undecided != 7 || d.Partitions != 7 || d.Degraded() != "" {
		t.Errorf("without two of three: %+v", d)
	}
	all[1].start()
	a.soon("all is well again", says("every key can be decided"))
	a.says("INFO", "every key can be decided again")
}

// TestDecidingRefused: a node that decides nothing says so of itself, and the others do not count on it.
func TestDecidingRefused(t *testing.T) {
	r := newRig(t)
	all := r.chairs(3)
	expecting(3, all...)
	for _, ch := range all[1:] {
		ch.config.Refuses = func() string { return "its clock is off" }
	}
	startAll(all...)
	all[0].soon("the others refuse", func() bool {
		return all[0].cluster.Deciding().String() == "no key can be decided: replicas b and c take no reservations"
	})
	if d := all[1].cluster.Deciding(); d.String() != "no key can be decided: its clock is off" {
		t.Errorf("the node that refuses says: %v", d)
	}
}
