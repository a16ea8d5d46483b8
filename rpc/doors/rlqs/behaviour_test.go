package rlqs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
)

const sampleLimits = `limits:
  api:    {capacity: 1000, refill: 100/s, consistency: leased, overrides: [{key: blocked, deny: true}, {key: special, capacity: 2000}]}
  strong: {capacity: 1000, refill: 100/s}
  hot:    {capacity: 1000, refill: 100/s, hot: lease}
  short:  {capacity: 100, refill: 100/s, consistency: leased}
  small:  {capacity: 20, refill: 1/s, consistency: leased}
`

// value is what a metric of the door shows, with the value of its label, if it has one.
func (b *bed) value(name string, label ...string) float64 {
	b.t.Helper()
	for _, m := range metricstest.Gather(b.t, b.registry, name) {
		if len(label) == 0 || m.GetLabel()[0].GetValue() == label[0] {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	b.t.Fatalf("no metric %s %v", name, label)
	return 0
}

// after asserts what Envoy has of a bucket some time later: tokens, or a denial of all, or nothing.
func (b *bed) after(d time.Duration, e *envoy, id map[string]string, want string) {
	b.t.Helper()
	<-time.After(d)
	synctest.Wait()
	held, ok := e.holds(id)
	got := "nothing"
	switch s := held.strategy.GetStrategy().(type) {
	case *typev3.RateLimitStrategy_TokenBucket:
		got = "tokens"
	case *typev3.RateLimitStrategy_BlanketRule_:
		got = s.BlanketRule.String()
	}
	if !ok {
		got = "no bucket"
	}
	if got != want && want != got+" or DENY_ALL" && want != "tokens or "+got {
		b.t.Errorf("Envoy has %s of %v, want %s", got, id, want)
	}
}

func TestSubscribes(t *testing.T) {
	inBubble(t, sampleLimits, func(b *bed) {
		t := b.t
		f := newFleet(b, 1, 1, func() time.Duration { return time.Millisecond })
		e := f.envoys[0]
		if e.request(api) {
			t.Error("a request passes before there is an assignment")
		}
		b.after(10*time.Millisecond, e, api, "tokens")
		if !e.request(api) {
			t.Error("a request does not pass with an assignment")
		}
		for range 4 { // it is renewed, whether there are requests or not
			e.report()
			b.after(4900*time.Millisecond, e, api, "tokens")
		}
		for i := range 15 { // and abandoned when there were none for a minute
			e.report()
			want := "tokens"
			if i > 7 {
				want = "no bucket"
			}
			b.after(5*time.Second, e, api, want)
		}
		e.request(api)
		b.after(10*time.Millisecond, e, api, "tokens")
		if n := b.value("jeton_door_rlqs_buckets"); n != 1 {
			t.Errorf("%v buckets", n)
		}
		b.after(30*time.Second, e, api, "nothing") // no reports come: its assignment runs out
		if n := b.value("jeton_door_rlqs_buckets"); n != 0 {
			t.Errorf("%v buckets that nobody reports", n)
		}
		e.report()
		b.after(10*time.Millisecond, e, api, "tokens")
		f.end()
	})
}

// What cannot be assigned is denied, and why is counted.
func TestRefused(t *testing.T) {
	inBubble(t, sampleLimits, func(b *bed) {
		t := b.t
		f := newFleet(b, 1, 1, func() time.Duration { return 0 })
		e := f.envoys[0]
		for why, id := range map[string]map[string]string{
			"bucket_id":     {"key": "user:42"},
			"unknown_limit": {"limit": "none", "key": "k"},
			"not_leased":    {"limit": "strong", "key": "k"},
			"too_short":     {"limit": "short", "key": "k"},
			"override":      {"limit": "api", "key": "blocked"},
		} {
			e.request(id)
			b.after(time.Second, e, id, "DENY_ALL")
			if n := b.value("jeton_door_rlqs_refused_total", why); n != 1 {
				t.Errorf("%s is counted %v times", why, n)
			}
			e.report()
			b.after(9*time.Second, e, id, "DENY_ALL")
		}
		hot := map[string]string{"limit": "hot", "key": "k"}
		e.request(hot)
		b.after(time.Second, e, hot, "DENY_ALL")
		special := map[string]string{"limit": "api", "key": "special"}
		e.request(special)
		b.after(time.Second, e, special, "tokens")
		if n := b.value("jeton_door_rlqs_buckets"); n != 1 {
			t.Errorf("%v buckets are kept", n)
		}
		f.end()
	})
}

// Where nothing is left, Envoy is told to deny, and hears soon when there is something.
func TestNothingIsLeft(t *testing.T) {
	inBubble(t, sampleLimits, func(b *bed) {
		t := b.t
		small := map[string]string{"limit": "small", "key": "k"}
		drain := func() {
			for {
				if d, err := b.system.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("small")}}); err != nil || !d.Allowed {
					return
				}
			}
		}
		drain()
		f := newFleet(b, 1, 1, func() time.Duration { return 0 })
		e := f.envoys[0]
		e.request(small)
		b.after(10*time.Millisecond, e, small, "DENY_ALL")
		e.report()
		b.after(4*time.Second, e, small, "tokens") // two have come back, of which half is assigned
		drain()
		for range 4 {
			e.report()
			drain()
			b.after(time.Second, e, small, "tokens or DENY_ALL")
		}
		e.report()
		b.after(10*time.Second, e, small, "tokens")
		f.end()
	})
}

// What Envoy let pass beyond what it was assigned is counted, and what it was assigned is not.
func TestExcess(t *testing.T) {
	inBubble(t, sampleLimits, func(b *bed) {
		t := b.t
		f := newFleet(b, 1, 1, func() time.Duration { return 0 })
		e := f.envoys[0]
		for range 500 {
			e.request(api)
			e.request(api)
			b.after(20*time.Millisecond, e, api, "tokens or DENY_ALL")
			if now := time.Now(); now.UnixMilli()%5000 < 20 {
				e.report()
			}
		}
		e.report()
		<-time.After(time.Second)
		if n := b.value("jeton_door_rlqs_excess_requests_total"); n != 0 {
			t.Errorf("%v requests were let pass beyond what was assigned, they say", n)
		}
		e.mu.Lock()
		e.buckets[nameOf(&rlqsv3.BucketId{Bucket: api})].allowed += 100_000
		e.mu.Unlock()
		e.report()
		<-time.After(time.Second)
		if n := b.value("jeton_door_rlqs_excess_requests_total"); n < 98_000 || n > 100_000 {
			t.Errorf("%v of 100000 are counted", n)
		}
		f.end()
	})
}

// A limiter that fails, and one that takes long.
type troubled struct {
	limit.Limiter

	err   atomic.Pointer[error]
	takes atomic.Int64
}

func (l *troubled) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if err := l.err.Load(); err != nil {
		return limit.Decision{}, *err
	}
	d, err := l.Limiter.Check(ctx, r)
	<-time.After(time.Duration(l.takes.Load()))
	return d, err
}

// While nothing is decided, nothing is assigned: what Envoy has runs out. An assignment that is ready too late is not sent.
func TestNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, doc := start(t, sampleLimits)
		l := &troubled{Limiter: system}
		b := newBed(t, l, func() *limit.Document { return doc })
		f := newFleet(b, 1, 1, func() time.Duration { return 0 })
		e := f.envoys[0]
		e.request(api)
		b.after(time.Second, e, api, "tokens")
		down := errors.New("down")
		l.err.Store(&down)
		b.after(2*time.Second, e, api, "tokens")
		e.report()
		b.after(2*time.Second, e, api, "nothing")
		l.err.Store(nil)
		b.after(4*time.Second, e, api, "tokens")
		e.report()
		l.takes.Store(int64(600 * time.Millisecond))
		b.after(6*time.Second, e, api, "nothing")
		if b.value("jeton_door_rlqs_late_total") == 0 {
			t.Error("what was ready too late is not counted")
		}
		e.report()
		l.takes.Store(int64(400 * time.Millisecond))
		b.after(4*time.Second, e, api, "tokens")
		f.end()
		b.close()
		system.Close()
	})
}

// An older node gives line as to an edge: nothing of it reaches Envoy.
type older struct{ limit.Limiter }

func (l older) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	ask := *r.Lease
	ask.After = 0
	r.Lease = &ask
	return l.Limiter.Check(ctx, r)
}

func TestOlderNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, doc := start(t, sampleLimits)
		b := newBed(t, older{system}, func() *limit.Document { return doc })
		f := newFleet(b, 1, 1, func() time.Duration { return 0 })
		e := f.envoys[0]
		e.request(api)
		b.after(5*time.Second, e, api, "nothing")
		if n := b.value("jeton_door_rlqs_asks_total", "failed"); n == 0 || n > 6 {
			t.Errorf("%v asks have failed", n)
		}
		if d, err := system.Check(t.Context(), limit.Request{Key: api["key"], Look: true, Limits: []limit.Ref{limit.Named("api")}}); err != nil || d.Limits[0].Remaining < 500 {
			t.Errorf("what was not used did not go back: %+v, %v", d.Limits, err)
		}
		f.end()
		b.close()
		system.Close()
	})
}

// Limits that are not known yet are waited for.
func TestNoLimitsYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, doc := start(t, sampleLimits)
		var known atomic.Pointer[limit.Document]
		b := newBed(t, system, known.Load)
		f := newFleet(b, 1, 1, func() time.Duration { return 0 })
		e := f.envoys[0]
		e.request(api)
		b.after(time.Second, e, api, "nothing")
		known.Store(doc)
		e.report()
		b.after(time.Second, e, api, "tokens")
		without, err := limit.ParseDocument([]byte("limits: {other: {capacity: 1, refill: 1/s}}"))
		if err != nil {
			t.Fatal(err)
		}
		known.Store(without)
		e.report()
		b.after(4*time.Second, e, api, "DENY_ALL")
		f.end()
		b.close()
		system.Close()
	})
}

// What is invalid ends the stream, with an error that says what to do.
func TestInvalid(t *testing.T) {
	report := func(domain string, ids ...map[string]string) *rlqsv3.RateLimitQuotaUsageReports {
		m := &rlqsv3.RateLimitQuotaUsageReports{Domain: domain}
		for _, id := range ids {
			m.BucketQuotaUsages = append(m.BucketQuotaUsages, &rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &rlqsv3.BucketId{Bucket: id}})
		}
		return m
	}
	for what, c := range map[string]struct {
		reports []*rlqsv3.RateLimitQuotaUsageReports
		code    codes.Code
		says    string
	}{
		"no domain":       {[]*rlqsv3.RateLimitQuotaUsageReports{report("", api)}, codes.InvalidArgument, "domain: is missing: set domain in Envoy's rate_limit_quota filter"},
		"another domain":  {[]*rlqsv3.RateLimitQuotaUsageReports{report("a", api), report("", api), report("b", api)}, codes.InvalidArgument, "domain: is another one than in the first report: open a stream for each"},
		"no bucket id":    {[]*rlqsv3.RateLimitQuotaUsageReports{report("a", api, nil)}, codes.InvalidArgument, "bucket_quota_usages[1].bucket_id: is missing: set bucket_id_builder in Envoy's rate_limit_quota filter"},
		"too much":        {[]*rlqsv3.RateLimitQuotaUsageReports{report("a", make([]map[string]string, 20_001)...)}, codes.ResourceExhausted, "bucket_quota_usages: 20001 are too many: at most 20000 in a report"},
		"nothing in them": {[]*rlqsv3.RateLimitQuotaUsageReports{report("a"), report("a")}, codes.OK, ""},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, sampleLimits, func(b *bed) {
				t := b.t
				l := b.dial(func(*rlqsv3.RateLimitQuotaResponse) {}, func() time.Duration { return 0 })
				for _, m := range c.reports {
					l.reports <- m
				}
				close(l.reports)
				if err := <-l.ended; status.Code(err) != c.code || err != nil && status.Convert(err).Message() != c.says {
					t.Errorf("the stream ends with %v, want %v %s", err, c.code, c.says)
				}
			})
		})
	}
}

// A stream that brings no report is ended, as it may be of an Envoy that is gone.
func TestSilence(t *testing.T) {
	inBubble(t, sampleLimits, func(b *bed) {
		mute, begun := b.dial(nil, nil), time.Now()
		if err := <-mute.ended; status.Code(err) != codes.DeadlineExceeded || time.Since(begun) < 10*time.Second || time.Since(begun) > 11*time.Second {
			b.t.Errorf("a stream without a report ends after %v: %v", time.Since(begun), err)
		}
		l, begun := b.dial(nil, nil), time.Now()
		<-time.After(9 * time.Second)
		l.reports <- &rlqsv3.RateLimitQuotaUsageReports{Domain: "d"}
		<-time.After(4*time.Minute - 9*time.Second)
		l.reports <- &rlqsv3.RateLimitQuotaUsageReports{Domain: "d"}
		if err := <-l.ended; status.Code(err) != codes.DeadlineExceeded || time.Since(begun) < 9*time.Minute || time.Since(begun) > 9*time.Minute+time.Second {
			b.t.Errorf("a stream ends after %v: %v", time.Since(begun), err)
		}
	})
}

// There are so many buckets in a stream, and streams, and no more; an Envoy that does not read holds a bounded number of messages back.
func TestBounds(t *testing.T) {
	inBubble(t, sampleLimits, func(b *bed) {
		t := b.t
		const most = 10_000
		refused := 0
		told := map[string]bool{}
		l := b.dial(func(m *rlqsv3.RateLimitQuotaResponse) {
			for _, a := range m.GetBucketAction() {
				told[a.GetBucketId().GetBucket()["key"]] = true
				if a.GetQuotaAssignmentAction().GetRateLimitStrategy().GetBlanketRule() == typev3.RateLimitStrategy_DENY_ALL {
					refused++
				}
			}
		}, func() time.Duration { return 0 })
		m := &rlqsv3.RateLimitQuotaUsageReports{Domain: "a"}
		for i := range most + 10 {
			m.BucketQuotaUsages = append(m.BucketQuotaUsages, &rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "api", "key": fmt.Sprint(i)}}})
		}
		l.reports <- m
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := b.value("jeton_door_rlqs_buckets"); n != most || refused != 0 || len(told) != most {
			t.Errorf("%v buckets, %d refused, and %d were told of, of %d", n, refused, len(told), most)
		}
		l.cut()
		if err := <-l.ended; err == nil {
			t.Error("a stream that is cut ends well")
		}
		synctest.Wait()
		if n := b.value("jeton_door_rlqs_buckets"); n != 0 {
			t.Errorf("%v buckets are left of a stream that ended", n)
		}
		unread := b.dial(nil, nil)
		unread.unread = true
		before := b.value("jeton_door_rlqs_asks_total", "given")
		for range 20 {
			unread.reports <- m
			<-time.After(2 * time.Second)
		}
		if n := b.value("jeton_door_rlqs_asks_total", "given") - before; n > 1000 {
			t.Errorf("%v assignments are made for an Envoy that does not read", n)
		}
		unread.cut()
		if err := <-unread.ended; err == nil {
			t.Error("a stream that is cut while nothing is read ends well")
		}
		var all []*link
		for range 1024 {
			all = append(all, b.dial(nil, nil))
		}
		synctest.Wait()
		if err := <-b.dial(nil, nil).ended; status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one stream too many: %v", err)
		}
		for _, l := range all {
			l.cut()
		}
	})
}
