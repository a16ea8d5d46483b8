package edge_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A flood that is denied costs the cluster a report now and then, however many callers there are, from the first check of the key on.
func TestEventualDeniedFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.delay = 20 * time.Millisecond
		b.doc.Store(document(t, "limits: {l: {capacity: 10, refill: 1/h, consistency: eventual}}"))
		var wait sync.WaitGroup
		for range 20_000 {
			wait.Go(func() { b.check(0, of("k", 1, "l")) })
			pass(time.Millisecond)
		}
		wait.Wait()
		if asked := b.asked.Load(); asked > 30 {
			t.Errorf("of 20,000 checks in 20 s, all but 10 of them denied, %d messages were sent to the node", asked)
		}
	})
}
