package rlqs_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// An envoy enforces what it is assigned as Envoy's filter does: see docs/from-envoy-rlqs.md for where that is written.
type envoy struct {
	domain  string
	denies  bool                                     // no_assignment_behavior and expired_assignment_behavior deny all
	lateBy  func() time.Duration                     // how much later than its time a timer may fire
	reports func(*rlqsv3.RateLimitQuotaUsageReports) // sends one

	mu      sync.Mutex
	buckets map[string]*envoyBucket
	random  *rand.Rand
}

type envoyBucket struct {
	id              *rlqsv3.BucketId
	strategy        *typev3.RateLimitStrategy // nil: its default
	expires         time.Time
	tokens          *envoyTokens
	allowed, denied uint64
	reported        time.Time
	assignments     int
}

// envoyTokens is AtomicTokenBucketImpl: a time from which on tokens have come.
type envoyTokens struct{ max, rate, at float64 }

func secondsOf(t time.Time) float64 { return float64(t.UnixNano()-zero) / 1e9 }

// zero is some time long before the tests' beginning.
var zero = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

func newEnvoyTokens(b *typev3.TokenBucket, now time.Time) *envoyTokens {
	t := &envoyTokens{max: float64(b.GetMaxTokens()), rate: float64(b.GetTokensPerFill().GetValue()) / float64(b.GetFillInterval().GetSeconds())}
	t.rate = max(t.rate, 1.0/(365*24*60*60))
	t.at = secondsOf(now) - t.max/t.rate
	return t
}

func (t *envoyTokens) consume(now time.Time) bool {
	at := secondsOf(now)
	total := math.Min(t.max, (at-t.at)*t.rate)
	if total < 1 {
		return false
	}
	t.at = at - (total-1)/t.rate
	return true
}

func newEnvoy(domain string, denies bool, seed uint64, reports func(*rlqsv3.RateLimitQuotaUsageReports)) *envoy {
	return &envoy{domain: domain, denies: denies, reports: reports, buckets: map[string]*envoyBucket{}, random: rand.New(rand.NewPCG(seed, 1)), lateBy: func() time.Duration { return 0 }}
}

func nameOf(id *rlqsv3.BucketId) (name string) {
	for _, k := range slices.Sorted(maps.Keys(id.GetBucket())) {
		name += k + "\x00" + id.GetBucket()[k] + "\x00"
	}
	return name
}

// request is one request for a bucket: it says whether Envoy lets it pass.
func (e *envoy) request(id map[string]string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, of := time.Now(), &rlqsv3.BucketId{Bucket: id}
	b := e.buckets[nameOf(of)]
	if b == nil {
		b = &envoyBucket{id: of, reported: now}
		e.buckets[nameOf(of)] = b
		b.count(!e.denies)
		e.reports(&rlqsv3.RateLimitQuotaUsageReports{Domain: e.domain, BucketQuotaUsages: []*rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{b.usage(now)}})
		return !e.denies
	}
	e.expireLocked(b, now)
	passes := !e.denies
	switch s := b.strategy.GetStrategy().(type) {
	case *typev3.RateLimitStrategy_BlanketRule_:
		passes = s.BlanketRule == typev3.RateLimitStrategy_ALLOW_ALL
	case *typev3.RateLimitStrategy_TokenBucket:
		passes = b.tokens.consume(now)
	}
	b.count(passes)
	return passes
}

func (b *envoyBucket) count(passes bool) {
	if passes {
		b.allowed++
	} else {
		b.denied++
	}
}

func (b *envoyBucket) usage(now time.Time) *rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage {
	u := &rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{
		BucketId: b.id, NumRequestsAllowed: b.allowed, NumRequestsDenied: b.denied, TimeElapsed: &durationpb.Duration{Seconds: int64(now.Sub(b.reported) / time.Second)},
	}
	b.allowed, b.denied, b.reported = 0, 0, now
	return u
}

// expireLocked is the timer of an assignment.
func (e *envoy) expireLocked(b *envoyBucket, now time.Time) {
	if b.strategy != nil && !now.Before(b.expires) {
		b.strategy, b.tokens = nil, nil
	}
}

// report reports all buckets, as Envoy does every five seconds.
func (e *envoy) report() {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := &rlqsv3.RateLimitQuotaUsageReports{Domain: e.domain}
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(e.buckets)) {
		m.BucketQuotaUsages = append(m.BucketQuotaUsages, e.buckets[name].usage(now))
	}
	e.reports(m)
}

// told takes in a message of the door.
func (e *envoy) told(m *rlqsv3.RateLimitQuotaResponse) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for _, a := range m.GetBucketAction() {
		name := nameOf(a.GetBucketId())
		b := e.buckets[name]
		if b == nil {
			continue
		}
		if a.GetAbandonAction() != nil {
			delete(e.buckets, name)
			continue
		}
		e.expireLocked(b, now)
		assigned := a.GetQuotaAssignmentAction()
		if next := assigned.GetRateLimitStrategy().GetTokenBucket(); next != nil {
			if was := b.strategy.GetTokenBucket(); was == nil || was.GetMaxTokens() != next.GetMaxTokens() || was.GetTokensPerFill().GetValue() != next.GetTokensPerFill().GetValue() ||
				was.GetFillInterval().GetNanos() != next.GetFillInterval().GetNanos() {
				b.tokens = newEnvoyTokens(next, now)
			}
		}
		b.strategy = assigned.GetRateLimitStrategy()
		b.expires = now.Add(time.Duration(assigned.GetAssignmentTimeToLive().GetSeconds())*time.Second + e.lateBy())
		b.assignments++
	}
}

// holds is what Envoy has of a bucket.
func (e *envoy) holds(id map[string]string) (b envoyBucket, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.buckets[nameOf(&rlqsv3.BucketId{Bucket: id})]
	if of == nil {
		return envoyBucket{}, false
	}
	e.expireLocked(of, time.Now())
	return *of, true
}
