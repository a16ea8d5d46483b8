package node

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// TestHungDisks lets no write to the disks of two of three nodes return: they still answer pings, and no key can be decided; every
// node says so, and that all is well when the disks go on.
func TestHungDisks(t *testing.T) {
	r := newRig(t)
	all := r.founders()
	var hung atomic.Pointer[chan struct{}]
	for _, s := range all[1:] {
		s.fault = func(o operation) *flaw {
			if h := hung.Load(); h != nil && strings.Contains(o.path, "/journal") {
				<-*h
			}
			return nil
		}
	}
	started(all...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, all...))
	n, _ := all[0].running()
	checks := 0
	check := func() {
		checks++
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, _ = n.Limiter.Check(ctx, limit.Request{Key: fmt.Sprint("key:", checks), Limits: []limit.Ref{limit.Named(kept)}}) // it may fail
	}
	verdict := func(want ring.Verdict) func() bool {
		return func() bool {
			check()
			for _, s := range all {
				node, _ := s.running()
				if node.member.cluster.Deciding().Verdict != want || (node.Ready() == nil) != (want == ring.DecidesAll) {
					return false
				}
			}
			return true
		}
	}
	r.eventually("every key can be decided", verdict(ring.DecidesAll))
	hang := make(chan struct{})
	hung.Store(&hang)
	r.eventually("no key can be decided, and all nodes know", verdict(ring.DecidesNone))
	if d := n.member.cluster.Deciding(); !strings.Contains(d.String(), "take no reservations") {
		t.Errorf("node 1 says: %v", d)
	}
	hung.Store(nil)
	close(hang)
	r.eventually("every key can be decided again", verdict(ring.DecidesAll))
}
