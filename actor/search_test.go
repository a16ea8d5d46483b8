package actor

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// search is what a System finds.
func search(tb testing.TB, s *System, q Search) (keys []string, complete bool) {
	tb.Helper()
	found, complete, err := s.Search(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	for _, k := range found {
		keys = append(keys, k.Key)
	}
	return keys, complete
}

func TestSearch(t *testing.T) {
	synctest.Test(t, testSearch)
}

func testSearch(t *testing.T) {
	s := start(t, Config{Shards: 3, IdleAfter: time.Hour})
	for _, key := range []string{"user:1", "user:12", "user:2", "org:1"} {
		decide(t, s, spend(key, 1, "slow"))
	}
	decide(t, s, spend("user:12", 1, "odd"))
	for _, test := range []struct {
		q    Search
		want string
		all  bool
	}{
		{Search{Prefix: "user:", Most: 10}, "user:1 user:12 user:2", true},
		{Search{Prefix: "user:1", Most: 10}, "user:1 user:12", true},
		{Search{Prefix: "user:2", Most: 10}, "user:2", true},
		{Search{Prefix: "", Most: 10}, "org:1 user:1 user:12 user:2", true},
		{Search{Prefix: "", Most: 2}, "org:1 user:1", false},
		{Search{Prefix: "", Most: 4}, "org:1 user:1 user:12 user:2", true},
		{Search{Prefix: "user:1", Most: 1}, "user:1", false},
		{Search{Prefix: "user:1", Most: 0}, "", false},
		{Search{Prefix: "user:", Limit: "odd", Most: 10}, "user:12", true},
		{Search{Prefix: "user:12", Limit: "odd", Most: 10}, "user:12", true},
		{Search{Prefix: "user:1", Limit: "odd", Most: 10}, "user:12", true},
		{Search{Prefix: "user:", Limit: "fast", Most: 10}, "", true},
		{Search{Prefix: "nobody", Most: 10}, "", true},
	} {
		keys, all := search(t, s, test.q)
		if got := strings.Join(keys, " "); got != test.want || all != test.all {
			t.Errorf("%+v: found %q, complete %v; want %q, %v", test.q, got, all, test.want, test.all)
		}
	}
}

// TestSearchDormant finds a key that is dormant by its whole name, and how full its bucket is.
func TestSearchDormant(t *testing.T) {
	synctest.Test(t, testSearchDormant)
}

func testSearchDormant(t *testing.T) {
	s, _ := dormantSystem(t, Config{Shards: 1})
	toDormant(t, s)
	for _, name := range []string{"", "ahead"} {
		found, _, err := s.Search(t.Context(), Search{Prefix: "a", Limit: name, Most: 5})
		if err != nil || len(found) != 1 || len(found[0].Buckets) != 1 || found[0].Buckets[0].Limit != "ahead" || s.dormant() != 1 {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	if keys, _ := search(t, s, Search{Prefix: "a", Limit: "demo", Most: 5}); len(keys) != 0 {
		t.Errorf("found %v, which has no bucket of the limit", keys)
	}
	if keys, _ := search(t, s, Search{Prefix: "", Most: 5}); len(keys) != 0 {
		t.Errorf("found %v, whose names nobody knows", keys)
	}
}

// TestSearchWhileKeysCome searches while actors wake and are forgotten: those that are there all the time are found, once each.
func TestSearchWhileKeysCome(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	s := start(t, Config{IdleAfter: time.Millisecond, Shards: 2})
	var want []string
	for i := range 5000 {
		key := "stays:" + strconv.Itoa(10000+i)
		want = append(want, key)
		r := spend(key, 1, "slow")
		r.Receipt = true // which is remembered for ten minutes
		decide(t, s, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = s.Check(ctx, spend("goes:"+strconv.FormatUint(random.Uint64(), 36), 1, "fast"))
		}
	}()
	for range 20 {
		if got, complete := search(t, s, Search{Prefix: "stays:", Most: 6000}); complete && !slices.Equal(got, want) {
			t.Errorf("found %d keys, want the %d that stay", len(got), len(want))
		}
	}
	cancel()
	<-ended
}

// TestSearchIsGivenUp has the context of a search end at random: nothing of it is left.
func TestSearchIsGivenUp(t *testing.T) {
	s := start(t, Config{Shards: 2})
	for i := range 20_000 {
		decide(t, s, spend(strconv.Itoa(i), 1, "slow"))
	}
	for range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(3*time.Millisecond))))
		_, _, _ = s.Search(ctx, Search{Prefix: "1", Most: 10})
		cancel()
	}
}

// BenchmarkSearchAMillion searches a million awake keys, and prints how long an answer takes, and how long a check that comes meanwhile takes at the
// most and as a rule.
func BenchmarkSearchAMillion(b *testing.B) {
	s := start(b, Config{IdleAfter: time.Hour, Limits: fixed(document(b, stored))})
	const keys = 1_000_000
	rs := make([]limit.Request, 0, 1000)
	for i := range keys {
		if rs = append(rs, spend("user:"+strconv.Itoa(keys+i), 1, "slow")); len(rs) == cap(rs) {
			for _, r := range s.CheckBatch(b.Context(), rs) {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
			}
			rs = rs[:0]
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	var times []time.Duration
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			asked := time.Now()
			if _, err := s.Check(ctx, spend("user:"+strconv.Itoa(keys+i%keys), 1, "slow")); err == nil {
				times = append(times, time.Since(asked))
			}
		}
	}()
	b.ResetTimer()
	whole := 0
	for b.Loop() {
		for _, q := range []Search{{Prefix: "user:19999", Most: 100}, {Prefix: "user:", Most: 100}, {Prefix: "nobody", Most: 100}} {
			_, complete, err := s.Search(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			if complete {
				whole++
			}
		}
	}
	b.StopTimer()
	cancel()
	<-ended
	slices.Sort(times)
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(3*b.N), "ms/search")
	b.ReportMetric(float64(whole)/float64(b.N), "complete_of_3")
	if n := len(times); n > 0 {
		b.ReportMetric(float64(times[n/2].Microseconds()), "check_p50_us")
		b.ReportMetric(float64(times[n*99/100].Microseconds()), "check_p99_us")
		b.ReportMetric(float64(times[n-1].Microseconds()), "check_max_us")
	}
}
