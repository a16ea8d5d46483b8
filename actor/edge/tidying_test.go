package edge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// noting is a cluster that says of each report that the bucket is full, and by which plan each report was.
type noting struct {
	limit.Limiter

	mu    sync.Mutex
	plans []string
}

func (n *noting) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Cost > 0 {
		n.plans = append(n.plans, r.Plan)
	}
	now := time.Now().UnixNano()
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: "l", Allowed: true}}, Reported: &limit.Reported{Spent: now, Now: now, Share: limit.ShareWhole}}, nil
}

func (n *noting) CheckBatch(ctx context.Context, rs []limit.Request) (out []limit.Result) {
	for i := range rs {
		d, err := n.Check(ctx, rs[i])
		out = append(out, limit.Result{Decision: d, Err: err})
	}
	return out
}

// What is due of a bucket is sent by the plan with which it was made, while the bucket goes on under another one.
func TestTidyingWhilePlansChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc, err := limit.ParseDocument([]byte("limits: {l: {capacity: 1000, refill: 10/s, consistency: eventual, sync: 100ms, plans: {pro: {capacity: 2000, refill: 20/s}}}}"))
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		run := func(f func(context.Context)) { f(t.Context()) }
		cluster := &noting{}
		e, err := New(Config{Cluster: cluster, Limits: func() *limit.Document { return doc }, Go: func(f func(context.Context)) bool {
			run(f)
			return true
		}})
		if err != nil {
			t.Fatal(err)
		}
		e.tidying.Store(true) // this test tidies
		var keys []string     // of one shard
		for i := 0; len(keys) < 5; i++ {
			if key := fmt.Sprint(i); e.shardOf(key) == &e.shards[0] {
				keys = append(keys, key)
			}
		}
		check := func(plan string) {
			for _, key := range keys {
				if _, err := e.Check(t.Context(), limit.Request{Key: key, Cost: 1, Plan: plan, Limits: []limit.Ref{limit.Named("l")}}); err != nil {
					t.Error(err)
				}
			}
		}
		check("") // it hears of the bucket
		check("")
		<-time.After(time.Second)
		var once sync.Once
		run = func(f func(context.Context)) {
			wait.Go(func() {
				once.Do(func() { check("pro") })
				f(t.Context())
			})
		}
		e.tidyPart(0)
		wait.Wait()
		if slices.Contains(cluster.plans, "pro") || len(cluster.plans) != len(keys) {
			t.Errorf("of what %d keys have spent by no plan, reports are by the plans %q", len(keys), cluster.plans)
		}
	})
}
