package actor

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// activity is what a System tells of itself.
func activity(tb testing.TB, s *System) Activity {
	tb.Helper()
	a, err := s.Activity(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// TestActivityCounts makes checks at random, and expects exactly what they were answered in the counts of their limits.
func TestActivityCounts(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	s := start(t, Config{Shards: 1 + random.IntN(4), IdleAfter: time.Hour})
	want, names := map[string]Said{}, []string{"demo", "fast", "odd"}
	checks := 200 + random.IntN(200)
	for range checks {
		r := spend("k"+strconv.Itoa(random.IntN(20)), 1+random.Int64N(4), names[random.IntN(3)], "slow")
		if random.IntN(8) == 0 {
			r = inline(r.Key, r.Cost, "own", 3, "1/s")
		}
		d := decide(t, s, r)
		for _, o := range d.Limits {
			label := labelOf(o.Name, o.Name == "own")
			said := want[label]
			switch {
			case d.Allowed:
				said.Allowed++
			case o.Allowed:
				said.Spared++
			default:
				said.Denied++
			}
			want[label] = said
		}
	}
	a := activity(t, s)
	for name, said := range want {
		if a.Limits[name] != said {
			t.Errorf("%s has said %+v, want %+v", name, a.Limits[name], said)
		}
	}
	if len(a.Limits) != len(want) {
		t.Errorf("%d limits have said something, want %d", len(a.Limits), len(want))
	}
	timed := 0.0
	for _, n := range a.Latency.Counts {
		timed += n
	}
	if int(timed) != checks || len(a.Latency.Counts) != len(a.Latency.Bounds)+1 {
		t.Errorf("%v checks were timed, want %d", timed, checks)
	}
	if a.Awake != overview(t, s).Awake || a.Held <= 0 || a.Waiting != 0 || len(a.Shed) != 0 {
		t.Errorf("got %+v", a)
	}
}

// TestActivityKeys tells which keys are busy and which are denied most, and how full their buckets are, which a look leaves as they are.
func TestActivityKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := startHot(t, Config{Shards: 3})
		for range 50 {
			pass(10 * time.Millisecond)
			for range 3 {
				decide(t, s, spend("good", 1, "slow"))
			}
			decide(t, s, spend("bad", 1, "demo"))
		}
		pass(heatWindow)
		decide(t, s, spend("good", 1, "slow")) // the window is over
		decide(t, s, spend("bad", 1, "demo"))
		a := activity(t, s)
		if len(a.Keys) != 2 || a.Keys[0].Key != "good" || a.Keys[1].Key != "bad" {
			t.Fatalf("busy are %+v", a.Keys)
		}
		good, bad := a.Keys[0], a.Keys[1]
		if good.Denied != 0 || bad.Denied < 0.9 || good.PerSecond < 2*bad.PerSecond {
			t.Errorf("got %+v and %+v", good, bad)
		}
		full := []BucketState{{Limit: "slow", Capacity: 1000, Remaining: 849}}
		if !slices.Equal(good.Buckets, full) {
			t.Errorf("its buckets are %+v, want %+v", good.Buckets, full)
		}
		if empty := []BucketState{{Limit: "demo", Capacity: 10, Remaining: 0}}; !slices.Equal(bad.Buckets, empty) {
			t.Errorf("its buckets are %+v, want %+v", bad.Buckets, empty)
		}
		if again := activity(t, s); !slices.Equal(again.Keys[0].Buckets, full) {
			t.Errorf("a look has spent: %+v", again.Keys[0].Buckets)
		}
	})
}

// TestActivityFillIsRight compares how full buckets are said to be with what a look at each costs, at random times and of all kinds of limits.
func TestActivityFillIsRight(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		t.Logf("seed %d", seed)
		names := []string{"demo", "fast", "odd", "slow"}
		s, _ := startHot(t, Config{Shards: 2})
		for range 200 {
			pass(time.Duration(random.Int64N(int64(time.Second))))
			key := "k" + strconv.Itoa(random.IntN(5))
			decide(t, s, spend(key, 1+random.Int64N(9), names[random.IntN(len(names))]))
			found, complete, err := s.Search(t.Context(), Search{Prefix: key, Most: 10})
			if err != nil || !complete || len(found) != 1 {
				t.Fatalf("found %+v, %v, %v", found, complete, err)
			}
			for _, b := range found[0].Buckets {
				if left := remaining(t, s, key, b.Limit); left < b.Remaining || left > b.Remaining+1 { // of two pieces of line, each may have a part of a token
					t.Fatalf("%s of %s is said to have %d tokens, and has %d", b.Limit, key, b.Remaining, left)
				}
			}
		}
	})
}

// TestActivityWaiting counts checks that are not answered.
func TestActivityWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 2})
		for range 3 {
			ask(limit.WithCaller(t.Context(), new(int)), s, spend("stuck", 1, "slow"))
		}
		synctest.Wait()
		if a := activity(t, s); a.Waiting != 3 {
			t.Errorf("%d checks wait, want 3", a.Waiting)
		}
		g.open()
		synctest.Wait()
		if a := activity(t, s); a.Waiting != 0 {
			t.Errorf("%d checks wait, and all are answered", a.Waiting)
		}
	})
}
