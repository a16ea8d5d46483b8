package rlqs

import (
	"math"
	"strings"
	"testing"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

const second = int64(time.Second)

func TestTargetOf(t *testing.T) {
	long := strings.Repeat("k", 600)
	for _, c := range []struct {
		bucket map[string]string
		key    string // or how the error begins
	}{
		{map[string]string{"limit": "api", "key": "user:42"}, "user:42"},
		{map[string]string{"limit": "api", "key": "user:42", "method": "GET", "a": "b"}, "user:42|a=b|method=GET"},
		{map[string]string{"limit": "api", "tenant": "acme", "a": "b"}, "a=b|tenant=acme"},
		{map[string]string{"limit": "api", "key": `a|b=c#\`}, `a\|b\=c\#\\`},
		{map[string]string{"limit": "api", "key": "", "a": "b"}, "|a=b"},
		{map[string]string{"limit": "api", "key": long}, long[:128] + "#4f7d10c4"},
		{map[string]string{"key": "user:42"}, `the bucket id has no entry "limit"`},
		{map[string]string{"limit": "", "key": "user:42"}, `the bucket id has no entry "limit"`},
		{map[string]string{"limit": "api"}, `the bucket id has no entry "key"`},
		{map[string]string{"limit": "api", "key": ""}, `the bucket id has no entry "key"`},
		{nil, `the bucket id has no entry "limit"`},
		{map[string]string{"limit": "api", "key": strings.Repeat("k", 1100)}, "the bucket id is too large"},
	} {
		at, err := targetOf(c.bucket)
		got := at.key
		if err != nil {
			got = err.Error()
		}
		if err == nil && at.limit != "api" || !strings.HasPrefix(got, c.key[:min(len(c.key), 128)]) || err == nil && len(c.bucket["key"]) < 500 && got != c.key {
			t.Errorf("%v: %+v, %v, want %s", c.bucket, at, err, c.key)
		}
	}
}

// Two bucket ids have the same key only if they are the same.
func TestKeysDiffer(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune(`ab|=\#`)), 0, 4, -1)
	entries := rapid.MapOfN(rapid.OneOf(rapid.Just("key"), text), text, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := entries.Draw(t, "a"), entries.Draw(t, "b")
		a["limit"], b["limit"] = "l", "l"
		one, err := targetOf(a)
		two, other := targetOf(b)
		if err == nil && other == nil && (one == two) != proto.Equal(&rlqsv3.BucketId{Bucket: a}, &rlqsv3.BucketId{Bucket: b}) {
			t.Fatalf("%q and %q have the keys %q and %q", a, b, one.key, two.key)
		}
	})
}

// Envoy's bucket, spent as soon as it can be, admits no more than was debited, and that is no more than there was.
func TestDebit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens, life := rapid.Int64Range(1, 3000).Draw(t, "tokens"), rapid.Int64Range(1, 4).Draw(t, "life")*second
		most := maxTokens(tokens, life)
		if most < 1 || debit(most, life) > tokens || debit(most+1, life) <= tokens {
			t.Fatalf("a bucket of %d for %d, of which %d can pass", most, tokens, debit(most, life))
		}
		b := tokenBucket(most, 7).GetTokenBucket()
		rate := float64(b.GetTokensPerFill().GetValue()) / float64(b.GetFillInterval().GetSeconds())
		has, passed := float64(b.GetMaxTokens()), int64(0)
		const steps = 10_000
		for range steps {
			for ; has >= 1; has-- {
				passed++
			}
			has = min(has+rate*float64(life+slack)/1e9/steps, float64(b.GetMaxTokens()))
		}
		if passed > debit(most, life) {
			t.Fatalf("%d pass of %d", passed, debit(most, life))
		}
	})
	if most := maxTokens(math.MaxInt64, longest); most <= 0 || most > math.MaxUint32 || debit(most, longest) > mostTokens {
		t.Errorf("of all tokens Envoy has a bucket of %d", most)
	}
}

// An assignment lasts so long that it and slack are half of the bucket, and no bucket is assigned from that has no room for a second.
func TestLifeOf(t *testing.T) {
	for text, want := range map[string]int64{
		"{capacity: 100, refill: 100/s}": 0, "{capacity: 200, refill: 100/s}": 0, "{capacity: 201, refill: 100/s}": 0, "{capacity: 202, refill: 100/s}": 1, "{capacity: 599, refill: 100/s}": 1,
		"{capacity: 600, refill: 100/s}": 2, "{capacity: 1000, refill: 100/s}": 4, "{capacity: 100000, refill: 100/s}": 4, "{capacity: 1, refill: 1/m}": 0, "{capacity: 2, refill: 1/m}": 0, "{capacity: 3, refill: 1/m}": 4,
		"{algorithm: fixed-window, limit: 10, window: 1s}": 0, "{algorithm: fixed-window, limit: 10, window: 4s}": 1, "{algorithm: fixed-window, limit: 10, window: 1h}": 4,
		"{algorithm: fixed-window, limit: 1, window: 1h}": 0, "{algorithm: fixed-window, limit: 10, per: month}": 4,
	} {
		doc, err := limit.ParseDocument([]byte("limits: {l: " + strings.TrimSuffix(text, "}") + ", consistency: leased}}"))
		if err != nil {
			t.Fatal(err)
		}
		rule, _ := doc.Rule("l")
		for now := 17 * second; now < 40*second; now += second / 3 {
			life, ok := lifeOf(rule, now)
			if ok != (want > 0) || ok && life != want*second {
				t.Errorf("%s: %v, %v at %v, want %d s", text, time.Duration(life), ok, time.Duration(now), want)
				break
			}
		}
	}
}

func TestDemand(t *testing.T) {
	var d demand
	if d.wants(second, 1000) != 100 || d.wants(second, 3) != 1 {
		t.Error("what is unknown is not a tenth")
	}
	d.report(second, 1, 0)
	if d.known {
		t.Error("the first report tells a rate")
	}
	d.report(6*second, 499, 4*second) // Envoy cuts the time to seconds
	if d.rate != 100 {
		t.Errorf("500 in five seconds are %v a second", d.rate)
	}
	d.report(11*second, 0, 5*second)
	if d.rate != 50 {
		t.Errorf("half after nothing: %v", d.rate)
	}
	d.report(11*second+1, 1000, -second) // too soon, and odd: it counts with the next one
	if d.rate != 50 {
		t.Errorf("a report that comes at once: %v", d.rate)
	}
	d.report(16*second+1, 0, math.MaxInt64)
	if d.rate != 200 {
		t.Errorf("and then: %v", d.rate)
	}
	if got := d.wants(4*second, 1_000_000); got != 800+57+1 {
		t.Errorf("wants %d", got)
	}
	if got := d.wants(4*second, 500); got != 500 {
		t.Errorf("wants %d of 500", got)
	}
	for range 3 {
		d.report(d.heard+second, math.MaxUint64, second)
	}
	if got := d.wants(4*second, math.MaxInt64); got <= 0 {
		t.Errorf("of reports that are too large it wants %d", got)
	}
	var late demand
	late.report(100*second, 50, 5*second) // a stream that was lost: Envoy tells what it counted meanwhile
	if !late.known || late.rate != 10 {
		t.Errorf("after a stream was lost: %+v", late)
	}
	if late.silent(115*second) || !late.silent(116*second) {
		t.Error("it is silent after another time than 15 s")
	}
	late.report(110*second, 0, 0)
	if late.silent(140*second) || !late.silent(141*second) {
		t.Error("of one that reports every ten seconds it is silent after another time than 30 s")
	}
}

// Reports, as bytes: whatever they say, there are no more actions than buckets, and nothing wants more than the capacity.
func FuzzReports(f *testing.F) {
	seed := func(usages ...*rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage) {
		b, err := proto.Marshal(&rlqsv3.RateLimitQuotaUsageReports{Domain: "d", BucketQuotaUsages: usages})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, 5*second)
	}
	api := &rlqsv3.BucketId{Bucket: map[string]string{"limit": "api", "key": "k"}}
	seed(&rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: api, NumRequestsAllowed: math.MaxUint64, NumRequestsDenied: math.MaxUint64})
	seed(&rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: api, TimeElapsed: &durationpb.Duration{Seconds: -1, Nanos: 5}},
		&rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "none", "key": "k"}}, NumRequestsDenied: 7})
	seed(&rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{})
	doc, err := limit.ParseDocument([]byte("limits: {api: {capacity: 1000, refill: 100/s, consistency: leased}}"))
	if err != nil {
		f.Fatal(err)
	}
	door, err := New(Config{Limiter: struct{ limit.Limiter }{}, Limits: func() *limit.Document { return doc }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, step int64) {
		var m rlqsv3.RateLimitQuotaUsageReports
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		s := door.newSubscriptions("192.0.2.1")
		defer s.close()
		now := second
		for range 4 {
			for _, u := range m.GetBucketQuotaUsages() {
				s.report(now, now, usageOf(u), doc)
			}
			for _, a := range s.step(now, now, doc, 100) {
				if a.tokens < 1 || a.tokens > 1000 {
					t.Fatalf("it wants %d", a.tokens)
				}
				s.answered(now, &answer{ask: a, lease: &limit.Lease{Receipt: limit.Receipt{Span: limit.Span{Start: now, End: now + a.terms.rule.Length(a.tokens).Ceil()}}}})
			}
			if len(s.out) > 4*len(m.GetBucketQuotaUsages()) || len(s.due) != len(s.buckets) {
				t.Fatalf("%d actions, %d of %d buckets are due some time, for %d usages", len(s.out), len(s.due), len(s.buckets), len(m.GetBucketQuotaUsages()))
			}
			now += min(max(step, 0), 100*second)
		}
	})
}

// An Envoy that connects again gets an assignment that is another one than it had, or it would go on with the token bucket that it has spent.
func TestStreamsBeginApart(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {api: {capacity: 1000, refill: 100/s, consistency: leased}}"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Config{Limiter: conformance.Stub{}, Limits: func() *limit.Document { return doc }})
	if err != nil {
		t.Fatal(err)
	}
	serials := map[int32]bool{}
	for range 20 {
		s := d.newSubscriptions("192.0.2.1")
		s.report(1, 1, usage{id: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "api", "key": "k"}}}, doc)
		serials[s.buckets[target{"api", "k"}].serial] = true
		s.close()
	}
	if len(serials) < 15 {
		t.Errorf("20 streams begin with %d serials", len(serials))
	}
}
