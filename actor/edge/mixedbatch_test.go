package edge_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// distant is a node to which a batch travels as long as a check.
type distant struct{ far }

func (d distant) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	<-time.After(d.bed.delay)
	return d.Limiter.CheckBatch(ctx, rs)
}

// A batch of which a limit is local takes no longer than another one.
func TestBatchesWithLocalLimits(t *testing.T) {
	for _, name := range []string{"ev", "own"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, 0)
			defer b.close()
			b.delay = 10 * time.Millisecond
			b.doc.Store(document(t, "limits: {strong: {capacity: 1000, refill: 1/s}, ev: {capacity: 1000, refill: 1/s, consistency: eventual}, own: {capacity: 1000, refill: 1/s, consistency: local}}"))
			e, err := edge.New(edge.Config{Cluster: distant{far{b.system, b}}, Limits: b.doc.Load, Go: b.background})
			if err != nil {
				t.Fatal(err)
			}
			b.edges = append(b.edges, e)
			var rs []limit.Request
			for k := range 200 {
				rs = append(rs, of(fmt.Sprint(k), 1, name, "strong"))
			}
			begin := time.Now()
			e.CheckBatch(t.Context(), rs)
			if took := time.Since(begin); took > 100*time.Millisecond {
				t.Errorf("a batch of 200 with %s and strong takes %v, and a message and its answer 20ms", name, took)
			}
		})
	}
}
