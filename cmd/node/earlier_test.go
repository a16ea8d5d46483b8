package node

import (
	"testing"
	"time"
)

// Every node, also one that starts later, counts on what the limits reached before they were made shorter.
func TestNodesKnowEarlierNumbers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := r.founders()
	started(nodes...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	n, _ := nodes[0].running()
	for version, text := range []string{
		"limits: {other: {capacity: 500, refill: 1/s}, counts: {algorithm: sliding-window, limit: 5, window: 1m}}", "limits: {other: {capacity: 2, refill: 1/s}}", "limits: {other: {capacity: 3, refill: 1/s}}",
	} {
		if _, err := n.member.cluster.SetLimits(t.Context(), uint64(version+1), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	knows := func() bool {
		for _, s := range nodes {
			n, _ := s.running()
			if rule, ok := n.Limits().Rule("other"); !ok || rule.Capacity != 3 || rule.Lead() < int64(500*time.Second) {
				return false
			}
		}
		return true
	}
	r.eventually("all nodes count on 500 s", knows)
	if err := nodes[2].stop(); err != nil {
		t.Fatal(err)
	}
	started(nodes[2])
	r.eventually("so does one that has started anew", knows)
}

// What an override has let a limit be reserved counts on, at every node, when it is gone: also where the document has made it reach further
// meanwhile, and at a node that starts later.
func TestNodesKnowEarlierOverrides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := r.founders()
	started(nodes...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	n, _ := nodes[0].running()
	c := n.member.cluster
	apply := func(version uint64, text string) {
		if _, err := c.SetLimits(t.Context(), version, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	apply(1, "limits: {other: {capacity: 2, refill: 1/s}, slow: {capacity: 2, refill: 1/s}}")
	for _, name := range []string{"other", "slow"} {
		if err := c.SetOverride(t.Context(), name, "k", "capacity: 500", 0); err != nil {
			t.Fatal(err)
		}
	}
	apply(2, "limits: {other: {capacity: 2, refill: 1/s}, slow: {capacity: 2, refill: 1/10s}}")
	if err := nodes[1].stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other", "slow"} {
		if err := c.UnsetOverride(t.Context(), name, "k"); err != nil {
			t.Fatal(err)
		}
	}
	apply(3, "limits: {other: {capacity: 3, refill: 1/s}, slow: {capacity: 3, refill: 1/s}}")
	started(nodes[1])
	knows := func() bool {
		for _, s := range nodes {
			n, _ := s.running()
			for name, lead := range map[string]time.Duration{"other": 500 * time.Second, "slow": 5000 * time.Second} {
				if rule, ok := n.Limits().Rule(name); !ok || rule.Capacity != 3 || rule.Lead() < int64(lead) {
					return false
				}
			}
		}
		return true
	}
	r.eventually("all nodes count on 500 s and 5000 s", knows)
	if err := nodes[2].stop(); err != nil {
		t.Fatal(err)
	}
	started(nodes[2])
	r.eventually("so does one that has started anew", knows)
}
