package rlqs

import (
	"fmt"
	"testing"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

// One address has a quarter of the places, so it takes none from others; what is given back is there again.
func TestShares(t *testing.T) {
	s := newShares(8)
	taken := 0
	for s.take("a") {
		taken++
	}
	if taken != 2 {
		t.Errorf("an address has %d places, want 2", taken)
	}
	for i := range 6 {
		if !s.take(fmt.Sprint("b", i)) {
			t.Error("there is no place for another address")
		}
	}
	if s.take("c") {
		t.Error("there are more places than eight")
	}
	s.leave("a")
	if !s.take("c") || s.take("d") {
		t.Error("a place that was given back is not there once")
	}
}

// What is refused without end is told to Envoy as far as it reads, and not kept beyond that: it reports it again. What it says of requests counts up to a bound.
func TestRefusalsAreBounded(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {api: {capacity: 1000, refill: 100/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Config{Limiter: conformance.Stub{}, Limits: func() *limit.Document { return doc }})
	if err != nil {
		t.Fatal(err)
	}
	s := d.newSubscriptions("192.0.2.1")
	for i := range 10 * maxActions {
		s.report(1, 1, usage{id: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "api", "key": fmt.Sprint(i)}}}, doc)
		s.report(1, 1, usage{id: &rlqsv3.BucketId{Bucket: map[string]string{"": "b"}}}, doc)
	}
	if len(s.out) != 2*maxActions {
		t.Errorf("%d actions wait", len(s.out))
	}
	u := usageOf(&rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{NumRequestsAllowed: 1 << 63, NumRequestsDenied: 1 << 63})
	if u.allowed != mostReported || u.denied != mostReported {
		t.Errorf("%d and %d requests are counted", u.allowed, u.denied)
	}
}
