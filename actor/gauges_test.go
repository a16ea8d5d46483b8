package actor

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// gaugedLimits are limits with gauges, and one without.
const gaugedLimits = `
limits:
  slow:   {capacity: 100, refill: 1/s, gauges: 2}
  page:   {algorithm: fixed-window, limit: 10, window: 1h, gauges: 1}
  log:    {algorithm: sliding-log, limit: 10, window: 1m, gauges: 1}
  silent: {capacity: 100, refill: 1/s}
`

// startGauged runs a System in a bubble with gaugedLimits, and reads its metrics.
func startGauged(t *testing.T, cfg Config) (*System, func(name string, labels ...string) float64) {
	t.Helper()
	cfg.Limits = fixed(document(t, gaugedLimits))
	s, reg := startHot(t, cfg)
	return s, func(name string, labels ...string) float64 { return count(t, reg, name, labels...) }
}

// TestGaugesTell looks at the buckets of the busiest keys: what is left of them, and what has come back since they were asked.
func TestGaugesTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, read := startGauged(t, Config{Shards: 2, ShowHotKeys: true})
		for i := range 3 { // the third is not among the two busiest
			for range 3 - i {
				decide(t, s, spend("key:"+strconv.Itoa(i), 10, "slow"))
			}
		}
		decide(t, s, spend("key:0", 4, "page", "log", "silent"))
		for labels, want := range map[string]float64{"key:0,slow": 70, "key:1,slow": 80, "key:0,page": 6, "key:0,log": 6} {
			if got := read("jeton_bucket_remaining", strings.Split(labels, ",")...); got != want {
				t.Errorf("%s: %v remain, want %v", labels, got, want)
			}
		}
		within(t, "the used share", read("jeton_bucket_used_ratio", "key:1", "slow"), 0.199, 0.201)
		if n := read("jeton_bucket_remaining"); n != 70+80+6+6 {
			t.Errorf("all series together say %v: there is one too many or too few", n)
		}
		pass(10 * time.Second)
		if got := read("jeton_bucket_remaining", "key:0", "slow"); got != 80 {
			t.Errorf("%v remain after ten seconds, want 80", got)
		}
		if got := read("jeton_bucket_remaining", "key:0", "page"); got != 6 {
			t.Errorf("%v remain of a window that is not over, want 6", got)
		}
		pass(gaugedFor)
		if n := read("jeton_bucket_remaining"); n != 0 {
			t.Errorf("the series say %v of keys that nobody has checked for a minute", n)
		}
	})
}

// TestGaugesAmongMany has a few keys with a twentieth of the checks each, and the others of keys that are checked once: the few are shown.
func TestGaugesAmongMany(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		t.Logf("seed %d", seed)
		s, read := startGauged(t, Config{Shards: 1 + random.IntN(4), ShowHotKeys: true})
		for i := range 4000 {
			pass(time.Millisecond)
			switch i % 10 {
			case 0:
				decide(t, s, spend("busy:"+strconv.Itoa(i/10%2), 1, "slow"))
			default:
				decide(t, s, spend("once:"+strconv.FormatUint(random.Uint64(), 36), 1, "slow"))
			}
		}
		for _, key := range []string{"busy:0", "busy:1"} {
			within(t, "the used share of "+key, read("jeton_bucket_used_ratio", key, "slow"), 0.98, 1) // 200 of its checks came, and it has 100
		}
	})
}

// TestGaugesEnd takes the gauges out of the document: their series end at once, and come back with them.
func TestGaugesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := document(t, gaugedLimits)
		s, reg := startHot(t, Config{Limits: func() *limit.Document { return doc }})
		decide(t, s, spend("key", 10, "slow"))
		if o := overview(t, s); len(o.Gauged) != 1 || o.Gauged[0].Key != "key" || !strings.HasPrefix(o.Gauged[0].Label, "#") || count(t, reg, "jeton_bucket_remaining", o.Gauged[0].Label) != 90 {
			t.Errorf("gauged are %+v", o.Gauged)
		}
		with := doc
		doc = document(t, strings.ReplaceAll(gaugedLimits, ", gauges: 2", ""))
		if n := count(t, reg, "jeton_bucket_remaining"); n != 0 {
			t.Errorf("the series say %v of a limit without gauges", n)
		}
		doc = with
		decide(t, s, spend("key", 10, "slow"))
		if n := count(t, reg, "jeton_bucket_remaining"); n != 80 {
			t.Errorf("the series say %v, want 80", n)
		}
	})
}

// TestGaugesAge has a busy key fall silent and another one take its place.
func TestGaugesAge(t *testing.T) {
	var g gaugedLimit
	g.found = map[string]int{}
	rule, _ := document(t, gaugedLimits).Rule("page")
	now := int64(0)
	for range 1 << 20 {
		g.note("before", rule, &limit.Outcome{Limit: 10}, now)
	}
	now += 20 * int64(gaugeAges)
	for range 8 {
		g.note("now", rule, &limit.Outcome{Limit: 10}, now)
	}
	if before, after := g.places[g.found["before"]].checks, g.places[g.found["now"]].checks; before >= after {
		t.Errorf("the key of before counts %d, the one of now %d", before, after)
	}
	now += 1 << 55
	g.note("now", rule, &limit.Outcome{Limit: 10}, now)
	if n := g.places[g.found["now"]].checks; n != 1 {
		t.Errorf("the key counts %d after years, want 1", n)
	}
}
