package edge_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// crowded counts reports that are on their way.
type crowded struct {
	limit.Limiter

	now, most atomic.Int64
}

func (c *crowded) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if r.Charge {
		done := c.under()
		defer done()
		<-time.After(5 * time.Millisecond)
	}
	return c.Limiter.Check(ctx, r)
}

func (c *crowded) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if rs[0].Charge {
		done := c.under()
		defer done()
		<-time.After(5 * time.Millisecond)
	}
	return c.Limiter.CheckBatch(ctx, rs)
}

// under counts a message that is on its way, until done is called.
func (c *crowded) under() (done func()) {
	n := c.now.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return func() { c.now.Add(-1) }
}

// Reports of many keys are not sent one by one at the same time: a Go client has 10,000 checks under way at most, and its callers would find it full.
func TestReportsOfManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 0)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 10/s, consistency: eventual}}"))
		c := &crowded{Limiter: b.system}
		e, err := edge.New(edge.Config{Cluster: c, Limits: b.doc.Load, Go: b.background})
		if err != nil {
			t.Fatal(err)
		}
		b.edges = append(b.edges, e)
		for k := range 60_000 {
			for range 2 {
				b.check(0, of(fmt.Sprint(k), 1, "l"))
			}
		}
		pass(3 * time.Second)
		if n := c.most.Load(); n > 1000 {
			t.Errorf("%d reports are on their way at once, each a message and a goroutine", n)
		}
	})
}
