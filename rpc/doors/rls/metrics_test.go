package rls_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// However many values there are, metrics have a bounded number of series.
func TestDetailedMetrics(t *testing.T) {
	r := newRig(t, rls.Config{Limiter: conformance.Stub{}, Directory: write(t, `domain: d
descriptors:
- {key: a, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 5}}
- {key: free, rate_limit: {unlimited: true}}
`)})
	for i := range 1100 {
		r.expect(ok, request("d", fmt.Sprint("a=", i)))
	}
	r.expect(ok, request("d", "free=1", "none=1", "none=2"))
	for labels, want := range map[string]float64{
		"rule=d.a_7 result=within": 1, "rule=d.a result=within": 100, "rule=d.free result=passed": 1,
	} {
		if got := r.count("jeton_door_rls_hits_total", labels); got != want {
			t.Errorf("%s: %v, want %v", labels, got, want)
		}
	}
	if got := r.count("jeton_door_rls_unmatched_total", ""); got != 2 {
		t.Errorf("%v descriptors were unmatched", got)
	}
	if got := len(metricstest.Gather(t, r.metrics, "jeton_door_rls_hits_total")); got != 1002 {
		t.Errorf("%d series", got)
	}
}

// Doors of one cluster share their buckets.
func TestTwoDoors(t *testing.T) {
	n := openNode(t)
	one := newRig(t, rls.Config{Limiter: n, Directory: write(t, rule("d", "2"))})
	two := newRig(t, rls.Config{Limiter: n, Directory: write(t, rule("d", "2"))})
	one.expect(ok, request("d", "a=1"))
	two.expect(ok, request("d", "a=1"))
	one.expect(over, request("d", "a=1"))
	two.expect(over, request("d", "a=1"))

	// Who knows the limit can look at the bucket.
	page := limit.Limit{Name: "rls-day", Algorithm: limit.FixedWindow, Capacity: 2, Window: 24 * time.Hour}
	d, err := n.Check(t.Context(), limit.Request{Key: "d|a=1", Limits: []limit.Ref{limit.Inline(page)}, Look: true})
	if err != nil || d.Limits[0].Remaining != 0 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// However requests meet, those that are denied leave their other limits as they were.
func TestConcurrent(t *testing.T) {
	r := ofRules(t, `domain: d
descriptors:
- {key: client, rate_limit: {unit: day, requests_per_unit: 1000}}
- {key: all, rate_limit: {unit: day, requests_per_unit: 20}}
`)
	const clients, each = 5, 12
	var admitted [clients]atomic.Int64
	var wait sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for c := range clients {
		for range each {
			wait.Go(func() {
				answer, err := r.client.ShouldRateLimit(ctx, request("d", fmt.Sprint("client=", c), "all="))
				switch {
				case err != nil:
					t.Error(err)
				case answer.GetOverallCode() == ok:
					admitted[c].Add(1)
				}
			})
		}
	}
	wait.Wait()
	sum := int64(0)
	for c := range clients {
		sum += admitted[c].Load()
		if left := remaining(r.expect(ok, hits(request("d", fmt.Sprint("client=", c)), 0, 0)))[0]; int64(left) != 1000-admitted[c].Load() {
			t.Errorf("client %d was admitted %d times, and has %d left", c, admitted[c].Load(), left)
		}
	}
	if sum != 20 {
		t.Errorf("%d were admitted, want 20", sum)
	}
}
