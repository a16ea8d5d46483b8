package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Power is cut of a node, the owner of some of the keys, while clients are inside. All permits come back at the owners of now, and their
// places are free at once, an hour before the leases are over; also those whose owners live, and were cut off from nothing.
func TestPermitsComeBackAfterTheirOwner(t *testing.T) {
	t.Parallel()
	const keys = 24
	r := newRig(t)
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	n, _ := nodes[0].running()
	if _, err := n.member.cluster.SetLimits(t.Context(), 1, []byte("limits: {streams: {algorithm: concurrency, limit: 1, lease: 1h}}")); err != nil {
		t.Fatal(err)
	}
	r.eventually("all nodes know the limit", func() bool {
		for _, s := range nodes {
			n, _ := s.running()
			if _, ok := n.Limits().Rule("streams"); !ok {
				return false
			}
		}
		return true
	})
	asked := 0
	// enter says too whether another decision on this check may have been lost: an error, or a second replica that the node has asked.
	enter := func(at int, key string) (d limit.Decision, lost bool) {
		t.Helper()
		asked++
		id := fmt.Sprint("check-", asked) // one whose answer was lost is told it when it is repeated, by the owner that gave it
		n, _ := nodes[at].running()
		again := askedAgain(t, n)
		r.eventually("a decision on "+key, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			var err error
			d, err = n.Check(ctx, limit.Request{Key: key, Limits: []limit.Ref{limit.Named("streams")}, Receipt: true, ID: id})
			lost = lost || err != nil
			return err == nil
		})
		return d, lost || askedAgain(t, n) > again
	}
	permits := map[string][]limit.Receipt{}
	for i := 0; len(permits) < keys; i++ {
		key := fmt.Sprintf("user:%d", i)
		if d, _ := enter(i%3, key); d.Allowed { // not where an answer was lost with its owner's memory
			permits[key] = d.Receipts
		}
	}
	owners := map[limit.OwnerID]bool{}
	for _, p := range permits {
		owners[p[0].Owner] = true
	}
	if len(owners) != 3 {
		t.Fatalf("the keys have %d owners: this proves nothing", len(owners))
	}
	powerCut(nodes[2])
	excused := 0
	for key, p := range permits {
		failed := false // an answer was lost: the permit may have come back
		r.eventually("the permit of "+key+" comes back", func() bool {
			n, _ := nodes[0].running()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			back, err := n.Return(ctx, key, p)
			failed = failed || err != nil
			return err == nil && (back[0] || failed)
		})
		switch d, lost := enter(1, key); {
		case d.Allowed:
		case lost && excused < keys/4:
			excused++
			t.Logf("the place of %s is taken for %v, by a check whose answer was lost", key, d.Limits[0].RetryAfter)
		default:
			t.Errorf("the place of %s is taken for %v", key, d.Limits[0].RetryAfter)
		}
		if d, _ := enter(0, key); d.Allowed {
			t.Errorf("two are inside with %s", key)
		}
	}
}
