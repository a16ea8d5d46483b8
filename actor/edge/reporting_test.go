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

// counted is a node that counts reports, and answers at once. It may be down.
type counted struct {
	limit.Limiter

	reports atomic.Int64
	down    atomic.Bool
	returns time.Duration // what a return takes
}

func (c *counted) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if r.Charge {
		c.reports.Add(1)
	}
	if c.down.Load() {
		return limit.Decision{}, limit.ErrUnavailable
	}
	return c.Limiter.Check(ctx, r)
}

func (c *counted) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	select {
	case <-time.After(c.returns):
		return c.Limiter.Return(ctx, key, receipts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// countedBed is one with an edge whose reports are counted.
func countedBed(t *testing.T, limits string) (*bed, *counted) {
	t.Helper()
	b := newBed(t, 0)
	b.doc.Store(document(t, limits))
	c := &counted{Limiter: b.system}
	e, err := edge.New(edge.Config{Cluster: c, Limits: b.doc.Load, Go: b.background})
	if err != nil {
		t.Fatal(err)
	}
	b.edges = append(b.edges, e)
	return b, c
}

// Of a limit that is removed nothing is reported for ever, nor kept.
func TestNoReportsOfRemovedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := countedBed(t, "limits: {l: {capacity: 100, refill: 10/s, consistency: eventual}}")
		defer b.close()
		for k := range 100 {
			for range 3 {
				b.check(0, of(fmt.Sprint(k), 1, "l"))
			}
		}
		b.doc.Store(document(t, "limits: {other: {capacity: 10, refill: 1/s}}"))
		pass(10 * time.Minute)
		before := c.reports.Load()
		pass(time.Minute)
		if n := c.reports.Load() - before; n > 0 {
			t.Errorf("ten minutes after the limit was removed, %d reports of its 100 keys are made in a minute", n)
		}
	})
}
