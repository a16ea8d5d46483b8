package gubernator

import (
	"cmp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

const (
	under = gubernatorpb.Status_UNDER_LIMIT
	over  = gubernatorpb.Status_OVER_LIMIT

	token = gubernatorpb.Algorithm_TOKEN_BUCKET
	leaky = gubernatorpb.Algorithm_LEAKY_BUCKET

	gregorianFlag = gubernatorpb.Behavior_DURATION_IS_GREGORIAN
	globalFlag    = gubernatorpb.Behavior_GLOBAL
	resetFlag     = gubernatorpb.Behavior_RESET_REMAINING
	drainFlag     = gubernatorpb.Behavior_DRAIN_OVER_LIMIT
)

// A fact is what one of gubernator's functional tests expects of a limit, or what this door answers in its place.
type fact struct {
	test  string // of functional_test.go of version 2.13.0
	item  *gubernatorpb.RateLimitReq
	steps []step
	// differs says why an answer is another one than gubernator's, which docs/from-gubernator.md says too; empty if none is.
	differs string
}

// A step is one request. What it does not say is that of the item.
type step struct {
	hits      int64
	limit     int64
	algorithm gubernatorpb.Algorithm
	behavior  gubernatorpb.Behavior

	status    gubernatorpb.Status
	remaining int64
	err       string        // that the error begins with
	then      time.Duration // passes after it
}

func limited(algorithm gubernatorpb.Algorithm, limit int64, duration time.Duration) *gubernatorpb.RateLimitReq {
	return &gubernatorpb.RateLimitReq{Algorithm: algorithm, Limit: limit, Duration: duration.Milliseconds()}
}

func with(m *gubernatorpb.RateLimitReq, change func(*gubernatorpb.RateLimitReq)) *gubernatorpb.RateLimitReq {
	change(m)
	return m
}

var minuteOfCalendar = func(m *gubernatorpb.RateLimitReq) { m.Duration, m.Behavior = 0, gregorianFlag }

var facts = []fact{
	{test: "TestOverTheLimit", item: limited(token, 2, 9*time.Second), steps: []step{
		{hits: 1, remaining: 1}, {hits: 1}, {hits: 1, status: over},
	}},
	{test: "TestTokenBucket", item: limited(token, 2, 5*time.Millisecond), steps: []step{
		{hits: 1, remaining: 1}, {hits: 1, then: 100 * time.Millisecond}, {hits: 1, remaining: 1},
	}},
	{test: "TestTokenBucketGregorian", item: with(limited(token, 60, 0), minuteOfCalendar), steps: []step{
		{hits: 1, remaining: 59},
		{hits: 1, remaining: 58},
		{hits: 58},
		{hits: 1, status: over, then: 61 * time.Second},
		{remaining: 60},
	}},
	{test: "TestTokenBucketNegativeHits", item: limited(token, 2, 5*time.Millisecond), steps: []step{
		{hits: -1, err: "field 'hits' cannot be negative"}, {hits: 2}, {hits: -1, err: "field 'hits' cannot be negative"},
	}, differs: "hits below zero are an error: there a limit of 2 admits 4"},
	{test: "TestDrainOverLimit", item: with(limited(token, 10, 30*time.Second), draining), steps: drainSteps},
	{test: "TestDrainOverLimit", item: with(limited(leaky, 10, 30*time.Second), draining), steps: drainSteps},
	{test: "TestTokenBucketRequestMoreThanAvailable", item: limited(token, 2000, time.Second), steps: moreThanAvailable},
	{test: "TestLeakyBucketRequestMoreThanAvailable", item: limited(leaky, 2000, time.Second), steps: moreThanAvailable},
	{test: "TestLeakyBucket", item: limited(leaky, 10, 30*time.Second), steps: []step{
		{hits: 1, remaining: 9, then: time.Second},
		{hits: 1, remaining: 8, then: time.Second},
		{hits: 1, remaining: 7, then: 1500 * time.Millisecond},
		{remaining: 8, then: 3 * time.Second},
		{remaining: 9},
		{hits: 9},
		{hits: 1, status: over, then: 3 * time.Second},
		{remaining: 1, then: time.Minute},
		{remaining: 10, then: time.Minute},
		{hits: 10, then: 29 * time.Second},
		{hits: 9, then: 3 * time.Second},
		{hits: 1, then: time.Second},
	}},
	{test: "TestLeakyBucketWithBurst", item: with(limited(leaky, 10, 30*time.Second), func(m *gubernatorpb.RateLimitReq) { m.Burst = 20 }), steps: []step{
		{hits: 1, remaining: 19, then: time.Second},
		{hits: 1, remaining: 18, then: time.Second},
		{hits: 1, remaining: 17, then: 1500 * time.Millisecond},
		{remaining: 18, then: 3 * time.Second},
		{remaining: 19},
		{hits: 19},
		{hits: 1, status: over, then: 3 * time.Second},
		{remaining: 1, then: time.Minute},
		{remaining: 20, then: time.Second},
	}, differs: "reset_time is when the burst is there again: there it counts from the limit, and so lies in the past"},
	{test: "TestLeakyBucketGregorian", item: with(limited(leaky, 60, 0), minuteOfCalendar), steps: []step{
		{hits: 1, remaining: 59, then: 500 * time.Millisecond}, {hits: 1, remaining: 58, then: 1200 * time.Millisecond}, {hits: 1, remaining: 58},
	}},
	{test: "TestLeakyBucketNegativeHits", item: limited(leaky, 10, 30*time.Second), steps: []step{
		{hits: 1, remaining: 9}, {hits: -1, err: "field 'hits' cannot be negative"}, {remaining: 9},
	}, differs: "hits below zero are an error"},
	{test: "TestMissingFields", item: limited(token, 10, 0), steps: []step{{hits: 1, remaining: 9}}},
	{test: "TestMissingFields", item: limited(token, 0, 10*time.Second), steps: []step{{hits: 1, status: over}}},
	{test: "TestGlobalRateLimits", item: with(limited(token, 5, 3*time.Minute), global), steps: []step{
		{hits: 1, remaining: 4}, {hits: 2, remaining: 2}, {remaining: 2}, {remaining: 2}, {hits: 2}, {hits: 1, status: over},
	}, differs: "reset_time moves on with each hit, as a window that moves does"},
	{test: "TestGlobalRateLimitsWithLoadBalancing", item: with(limited(token, 2, 5*time.Minute), global), steps: []step{
		{hits: 1, remaining: 1}, {hits: 1}, {hits: 1, status: over}, {hits: 1, status: over}, {hits: 1, status: over},
	}},
	{test: "TestGlobalRateLimitsPeerOverLimit", item: with(limited(token, 2, 5*time.Minute), global), steps: []step{
		{hits: 1, remaining: 1}, {hits: 1}, {hits: 1, status: over}, {},
	}, differs: "a look takes nothing and is under the limit: there the status of the last denial sticks"},
	{test: "TestGlobalRequestMoreThanAvailable", item: with(limited(leaky, 100, 1000*time.Minute), global), steps: []step{
		{remaining: 100}, {hits: 50, remaining: 50}, {hits: 50}, {hits: 50, status: over}, {hits: 1, status: over},
	}, differs: "each of nine peers admits 50 of 100 there, here two do"},
	{test: "TestGlobalNegativeHits", item: with(limited(token, 2, 100*time.Minute), global), steps: []step{
		{hits: -1, err: "field 'hits' cannot be negative"}, {remaining: 2},
	}, differs: "hits below zero are an error"},
	{test: "TestGlobalResetRemaining", item: with(limited(leaky, 100, 1000*time.Minute), global), steps: []step{
		{hits: 50, remaining: 50}, {hits: 50}, {hits: 1, status: over}, {behavior: globalFlag | resetFlag, remaining: 100}, {remaining: 100},
	}, differs: "each of nine peers admits 50 of 100 there, here two do"},
	{test: "TestChangeLimit", item: limited(token, 100, 9*time.Second), steps: []step{
		{hits: 1, remaining: 99},
		{hits: 1, remaining: 98},
		{hits: 1, limit: 10, remaining: 7},
		{hits: 1, limit: 10, remaining: 6},
		{hits: 1, limit: 200, remaining: 195},
		{hits: 1, limit: 100, algorithm: leaky, remaining: 99},
		{hits: 1, limit: 10, algorithm: leaky, remaining: 8},
		{hits: 1, limit: 10, algorithm: leaky, remaining: 7},
	}, differs: "another limit leaves spent what is spent, as a part of the bucket: there another burst fills it"},
	{test: "TestResetRemaining", item: limited(token, 100, 9*time.Second), steps: []step{
		{hits: 1, remaining: 99}, {hits: 1, remaining: 98}, {hits: 1, behavior: resetFlag, remaining: 100}, {hits: 1, remaining: 99},
	}},
	{test: "TestLeakyBucketDivBug", item: limited(leaky, 2000, time.Second), steps: []step{
		{hits: 1, remaining: 1999}, {hits: 100, remaining: 1899},
	}},
}

var (
	draining = func(m *gubernatorpb.RateLimitReq) { m.Behavior |= drainFlag }
	global   = func(m *gubernatorpb.RateLimitReq) { m.Behavior |= globalFlag }

	drainSteps = []step{{remaining: 10}, {hits: 1, remaining: 9}, {hits: 100, status: over}, {}}

	moreThanAvailable = []step{
		{hits: 1000, remaining: 1000},
		{hits: 1500, status: over, remaining: 1000},
		{hits: 500, remaining: 500},
		{hits: 400, remaining: 100},
		{hits: 100},
		{hits: 1, status: over},
	}
)

// TestFacts asks what gubernator's functional tests ask, in a bubble whose clock stands while nothing sleeps, as theirs is frozen.
func TestFacts(t *testing.T) {
	for _, f := range facts {
		t.Run(f.test+"/"+f.item.GetAlgorithm().String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newDoor(t, noLimits)
				for i, step := range f.steps {
					m, ok := proto.Clone(f.item).(*gubernatorpb.RateLimitReq)
					if !ok {
						t.Fatal("no item")
					}
					m.Name, m.UniqueKey, m.Hits = f.test, "account:1234", step.hits
					m.Limit = cmp.Or(step.limit, m.GetLimit())
					m.Algorithm, m.Behavior = cmp.Or(step.algorithm, m.GetAlgorithm()), cmp.Or(step.behavior, m.GetBehavior())
					judge(t, i, m, step, ask(t, s, m)[0])
					sleep(step.then)
				}
			})
		})
	}
}

func judge(t *testing.T, i int, m *gubernatorpb.RateLimitReq, want step, got *gubernatorpb.RateLimitResp) {
	t.Helper()
	if want.err != "" {
		if !strings.HasPrefix(got.GetError(), want.err) {
			t.Errorf("step %d: %v, want the error %s", i, got, want.err)
		}
		return
	}
	if got.GetError() != "" || got.GetStatus() != want.status || got.GetRemaining() != want.remaining || got.GetLimit() != m.GetLimit() {
		t.Errorf("step %d: %v, want %v with %d of %d", i, got, want.status, want.remaining, m.GetLimit())
	}
	if m.GetAlgorithm() != leaky || m.GetBehavior()&gregorianFlag != 0 {
		return
	}
	// The bucket is full after what is missing has come back. gubernator counts whole hits that are missing, so it says up to one of them more.
	missing := float64(cmp.Or(m.GetBurst(), m.GetLimit()) - got.GetRemaining())
	each := float64(m.GetDuration()) / float64(m.GetLimit())
	if after := float64(got.GetResetTime() - time.Now().UnixMilli()); after > missing*each+1 || after < (missing-1)*each {
		t.Errorf("step %d: full after %v ms, %v are missing, one comes back in %v ms", i, after, missing, each)
	}
}

// TestFactsInOneRequest is TestMultipleAsync and the order that TestGetPeerRateLimits expects.
func TestFactsInOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDoor(t, noLimits)
		item := func(key string, hits, limit int64) *gubernatorpb.RateLimitReq {
			return &gubernatorpb.RateLimitReq{Name: "test_multiple_async", UniqueKey: key, Duration: 9000, Hits: hits, Limit: limit}
		}
		got := ask(t, s, item("account:9234", 1, 2), item("account:5678", 5, 10))
		if got[0].GetRemaining() != 1 || got[0].GetLimit() != 2 || got[1].GetRemaining() != 5 || got[1].GetLimit() != 10 {
			t.Errorf("%v", got)
		}
		for _, n := range []int{1, 2, 5, 10, 100, gubernatorpb.MaxItems} {
			items := make([]*gubernatorpb.RateLimitReq, n)
			for i := range items {
				items[i] = item("order", 0, 1000+int64(i))
			}
			for i, m := range ask(t, s, items...) {
				if m.GetLimit() != 1000+int64(i) || m.GetRemaining() != 1000+int64(i) {
					t.Fatalf("%d of %d: %v", i, n, m)
				}
			}
		}
	})
}
