package actor

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
)

// bubbleClock is the clock of a bubble of synctest.
func bubbleClock() int64 { return time.Now().UnixNano() }

// startHot runs a System in a bubble, whose metrics are in the registry.
func startHot(t *testing.T, cfg Config) (*System, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	cfg.Now, cfg.Metrics = bubbleClock, reg
	return start(t, cfg), reg
}

// heatUp makes checks at equal distances for a time, of which share are of one key, and each of the others of a key that is checked once.
func heatUp(t *testing.T, s *System, random *rand.Rand, key string, perSecond int, share float64, d time.Duration) {
	t.Helper()
	for range int(d.Seconds() * float64(perSecond)) {
		pass(time.Second / time.Duration(perSecond))
		of := "cold:" + strconv.FormatUint(random.Uint64(), 36)
		if random.Float64() < share {
			of = key
		}
		decide(t, s, spend(of, 1, "demo"))
	}
}

// TestHotKeyFound heats up a key at a random moment: within a second it is named, with what it has of the checks. Once it is cold its series
// are gone.
func TestHotKeyFound(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		t.Logf("seed %d", seed)
		s, reg := startHot(t, Config{Shards: 1 + random.IntN(4), ShowHotKeys: true})
		heatUp(t, s, random, "", 400, 0, time.Duration(random.Int64N(int64(2*time.Second))))
		if n := count(t, reg, "jeton_hot_keys"); n != 0 {
			t.Errorf("%v keys are hot, and each was checked once", n)
		}
		heatUp(t, s, random, "hot", 400, 0.9, time.Second)
		if n := count(t, reg, "jeton_hot_keys"); n != 1 {
			t.Fatalf("%v keys are hot, want one", n)
		}
		within(t, "its rate", count(t, reg, "jeton_hot_key_checks_per_second", "hot"), 300, 400)
		within(t, "its share", count(t, reg, "jeton_hot_key_share", "hot"), 0.8, 1)
		within(t, "its denials", count(t, reg, "jeton_hot_key_denied_share", "hot"), 0.9, 1)
		o := overview(t, s)
		if len(o.Checked) != 1 || o.Checked[0].Key != "hot" || !o.Checked[0].Hot || !slices.Equal(o.Checked[0].Limits, []string{"demo"}) {
			t.Errorf("checked most are %+v", o.Checked)
		}
		within(t, "all checks", o.PerSecond, 340, 460) // shards have windows of their own, and which of them gets a check is drawn

		heatUp(t, s, random, "hot", 400, 0.1, time.Second) // too few of all
		if n := count(t, reg, "jeton_hot_key_share"); n != 0 {
			t.Errorf("a key that has a tenth of the checks is hot")
		}
		pass(2 * heatWindow)
		if perSecond, keys := s.Checked(); perSecond != 0 || len(keys) != 0 {
			t.Errorf("%v checks a second, %+v, and there were none for a second", perSecond, keys)
		}
	})
}

// TestHotKeyIdle looks at a key whose checks end with its window: it is told of all the same, once.
func TestHotKeyIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reg := startHot(t, Config{})
		for range 60 {
			decide(t, s, spend("hot", 1, "fast"))
		}
		pass(heatWindow)
		within(t, "the rate", count(t, reg, "jeton_hot_key_checks_per_second"), 119, 121)
		pass(heatWindow)
		if n := count(t, reg, "jeton_hot_key_checks_per_second"); n != 0 {
			t.Errorf("%v checks a second, and there were none for half a second", n)
		}
	})
}

// TestHotKeyRare looks at a key that has all checks, and these are few.
func TestHotKeyRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reg := startHot(t, Config{})
		heatUp(t, s, rand.New(rand.NewPCG(0, 0)), "only", 80, 1, 2*time.Second)
		if _, keys := s.Checked(); len(keys) != 1 || keys[0].Share != 1 || count(t, reg, "jeton_hot_keys") != 0 {
			t.Errorf("got %+v, want one key that is not hot", keys)
		}
	})
}

// TestHotKeyLabels bounds what metrics say of keys: hot ones alone, by hashes, unless they are to be shown; then cut, and made valid.
func TestHotKeyLabels(t *testing.T) {
	for _, shown := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, reg := startHot(t, Config{Shards: 3, ShowHotKeys: shown})
			same := strings.Repeat("a", 200)
			keys := []string{"b" + same, same + "1", same + "2"}
			for range 200 {
				for _, key := range keys {
					decide(t, s, spend(key, 1, "wide"))
				}
				for i := range 3 {
					decide(t, s, spend("key:"+strconv.Itoa(i), 1, "wide"))
				}
				pass(time.Millisecond)
			}
			pass(heatWindow)
			labels := map[string]bool{}
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				if !strings.HasPrefix(f.GetName(), "jeton_hot_key_") {
					continue
				}
				for _, m := range f.GetMetric() {
					labels[m.GetLabel()[0].GetValue()] = true
				}
			}
			_, checked := s.Checked()
			hashes := 0
			for _, k := range checked {
				if len(k.Label) == 13 && strings.HasPrefix(k.Label, "#") {
					hashes++
				}
			}
			switch {
			case count(t, reg, "jeton_hot_keys") != 0 || len(checked) != 6:
				t.Errorf("of six keys, none has a fifth: %+v", checked)
			case shown && hashes > 0, !shown && hashes != 6:
				t.Errorf("%d of the labels are hashes: %+v", hashes, checked)
			case len(labels) != 0:
				t.Errorf("keys that are not hot have series: %v", labels)
			}
			for range 200 {
				for _, key := range keys {
					decide(t, s, spend(key, 1, "wide"))
				}
				pass(5 * time.Millisecond)
			}
			if n := count(t, reg, "jeton_hot_keys"); n != 3 {
				t.Errorf("%v keys are hot, want 3", n)
			}
			series := count(t, reg, "jeton_hot_key_share")
			if shown && (series > 0.7 || count(t, reg, "jeton_hot_key_share", same[:128]) == 0) || !shown && math.Abs(series-1) > 0.01 {
				t.Errorf("the shares of three keys, of which two have one label when it is shown, are %v", series)
			}
		})
	}
}

// TestHeatExact compares what a shard counts with a slow count of everything, for random traffic: what has a twentieth of the checks is told
// with all of them, and nothing with more than it had. Where there are few keys, all are, but for what a key loses that is forgotten.
func TestHeatExact(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for range 50 {
		h := heat{node: new(atomic.Int64)}
		h.roll(1)
		keys := 1 + random.IntN(1000)
		few, checks := keys <= busyPlaces/2, random.IntN(100_000)
		actors, exact, lost := make([]*actor, keys), map[string]int{}, map[string]int{}
		skew := rand.NewZipf(random, 1.1+2*random.Float64(), 1+10*random.Float64(), uint64(keys-1)) //nolint:gosec // not negative
		for range checks {
			i := skew.Uint64()
			if a := actors[i]; a == nil || few && random.IntN(2000) == 0 { // for want of memory
				actors[i] = &actor{key: strconv.FormatUint(i, 10), last: h.start}
				lost[actors[i].key] += fewChecks
			}
			h.count(actors[i])
			exact[actors[i].key]++
		}
		h.roll(h.start + 2*int64(heatWindow))
		told := h.told.Load()
		if told == nil {
			continue
		}
		within(t, "all checks", told.perSecond, float64(checks)-0.1, float64(checks)+0.1)
		rates := map[string]float64{}
		for _, k := range told.keys {
			rates[k.Key] = k.PerSecond
			within(t, k.Key, k.PerSecond, fewChecks, float64(exact[k.Key])+0.1)
		}
		order := slices.SortedFunc(maps.Keys(exact), func(a, b string) int { return cmp.Compare(exact[b], exact[a]) })
		for _, key := range order[:min(len(order), busiestTold/2)] {
			switch n := exact[key]; {
			case few && n > 10*lost[key]:
				within(t, key, rates[key], float64(n-lost[key])-0.1, float64(n)+0.1)
			case !few && n > max(checks/20, fewChecks):
				within(t, key, rates[key], float64(n)-0.1, float64(n)+0.1)
			}
		}
	}
}

// TestHeatOfForgotten counts a key whose actor is forgotten every now and then, as where memory is short: it is hot all the same, once.
func TestHeatOfForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reg := startHot(t, Config{Shards: 1, ShowHotKeys: true})
		sh := s.shards[0]
		for i := range 1000 {
			decide(t, s, spend("hot", 1, "wide"))
			if i%100 == 99 {
				sh.mu.Lock()
				sh.forget(sh.actors.find(ring.Hash("hot"), "hot"), nil)
				sh.mu.Unlock()
			}
			pass(time.Millisecond)
		}
		within(t, "the rate", count(t, reg, "jeton_hot_key_checks_per_second"), 850, 1000)
	})
}

func within(tb testing.TB, what string, got, least, most float64) {
	tb.Helper()
	if got < least || got > most {
		tb.Errorf("%s: %v, want %v to %v", what, got, least, most)
	}
}
