package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// drawnSeed is a seed that was hardly ever used before, or the one of JETON_PLANET_SEED.
func drawnSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64N(1 << 40)
	if text := os.Getenv("JETON_PLANET_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("again: JETON_PLANET_SEED=%d go test -run '^%s$' ./cluster-tests/planet", seed, t.Name())
	return seed
}

func short(seed uint64) settings {
	return settings{seed: seed, seconds: 5, scale: 0.06, used: 0.9, fill: 10}
}

func find(t *testing.T, name string) *scenario {
	t.Helper()
	all, err := choose("--scenario", name, scenarios(), func(sc *scenario) string { return sc.name })
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// In no scenario is more admitted than the limits allow, and something is decided in each.
func TestEveryScenario(t *testing.T) {
	seed := drawnSeed(t)
	for _, sc := range scenarios() {
		for _, by := range policies() {
			s := short(seed)
			r := run(s, sc, by)
			if r.beyond > 0 || by.bounded && r.overshoot > 0 {
				t.Errorf("%s, %s: %.3f tokens too many, %.3f more than is promised", sc.name, by.name, r.overshoot, r.beyond)
			}
			switch a := &r.all; {
			case r.checked < 1000 || a.checks == 0 || a.admitted == 0:
				t.Errorf("%s, %s: nothing happens: %d checks, %.0f admitted", sc.name, by.name, r.checked, a.admitted)
			case math.Abs(a.admitted+a.denied+a.failed-a.checks) > 1e-6*a.checks:
				t.Errorf("%s, %s: %.0f admitted, %.0f denied and %.0f failed are not %.0f", sc.name, by.name, a.admitted, a.denied, a.failed, a.checks)
			case by.share == limit.Divided: // what an edge has no part of, it denies
			case sc.name != "cut" && sc.name != "attack" && a.admitted < 0.99*a.due:
				t.Errorf("%s, %s: %.0f of %.0f that were due are admitted", sc.name, by.name, a.admitted, a.due)
			case sc.name == "attack" && a.admitted < 0.6*a.due:
				t.Errorf("%s, %s: %.0f of %.0f that were due are admitted", sc.name, by.name, a.admitted, a.due)
			}
		}
	}
}

// Leased limits reach their targets.
func TestTargets(t *testing.T) {
	seed := drawnSeed(t)
	for _, name := range []string{"day", "leader"} {
		s := short(seed)
		s.seconds, s.scale = 8, 0.1
		r := run(s, find(t, name), policies()[1])
		for _, target := range targets() {
			if v := target.value(r); target.applies(r) && !target.met(v) {
				t.Errorf("%s: %s: %.4g, target %g", name, target.what, v, target.most)
			}
		}
	}
}

// tolerance is by how much a share may change when the sample is doubled.
const tolerance = 0.015

// A sample that is twice as large shows the same shares.
func TestSampleIsLargeEnough(t *testing.T) {
	s := short(drawnSeed(t))
	s.seconds = 7
	sc := find(t, "leader")
	of := func(scale float64) map[string]float64 {
		s.scale = scale
		r := run(s, sc, policies()[1])
		shares := map[string]float64{"at the edge": r.all.per(r.all.here), "messages": r.all.per(r.all.messages), "wrongly denied": r.all.per(r.all.wrongly)}
		for c := range r.classes {
			shares["of class "+class(c).String()] = r.classes[c].checks / r.all.checks / 3 // what share a class has depends on few keys near its ends
		}
		return shares
	}
	once, twice := of(1), of(2)
	for what, share := range once {
		if d := twice[what] - share; math.Abs(d) > tolerance {
			t.Errorf("%s: %.4f, and of a sample twice as large %.4f", what, share, twice[what])
		}
	}
}

// The same seed gives the same report.
func TestSameSeed(t *testing.T) {
	s := short(drawnSeed(t))
	s.seconds, s.scale = 4, 0.05
	var reports [2]bytes.Buffer
	for i := range reports {
		if err := report(&reports[i], io.Discard, s, "clocks,attack", ""); err != nil {
			t.Fatal(err)
		}
	}
	if reports[0].String() != reports[1].String() {
		t.Errorf("two reports of one seed:\n%s\n%s", &reports[0], &reports[1])
	}
	if text := reports[0].String(); !strings.Contains(text, "| attack | `leased` |") || strings.Contains(text, "NaN") {
		t.Error(text)
	}
}

// The checker of windows, which shares no code with this package's judge, finds nothing either; and both find an edge that admits everything.
func TestJudgesAgree(t *testing.T) {
	seed := drawnSeed(t)
	everything := &policy{"everything", limit.Leased, "", false, (*world).spent}
	for _, by := range append(policies(), everything) {
		s := short(seed)
		random := rand.New(rand.NewPCG(seed, 1))
		sc := find(t, "clocks")
		p := planOf(&s, sc, 12, random)
		places := everywhere(9000)
		key := sized(5000, 1, places[:30], 2, 1)
		w := newWorld(p, key, by)
		w.run(w.end)
		h := &history.History{Limits: []history.Limit{{Name: "api", Capacity: w.judge.capacity, Tokens: w.judge.refill, PerNS: w.judge.per}}}
		for _, a := range w.judge.log {
			h.Calls = append(h.Calls, history.Call{Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: a.cost, Start: a.at, End: a.at})
		}
		results, err := history.Run(h, p.clocks, "windows")
		if err != nil {
			t.Fatal(err)
		}
		over := w.judge.overshoot()
		wrong := slices.ContainsFunc(results, func(r history.Result) bool { return len(r.Violations) > 0 })
		if wrong != (over > 0) || wrong && by.bounded || !wrong && by == everything {
			t.Errorf("%s: the checker of windows finds %v, the judge %.3f tokens too many", by.name, results, over)
		}
	}
}

// A judge against all windows, one by one.
func TestJudge(t *testing.T) {
	random := rand.New(rand.NewPCG(drawnSeed(t), 0))
	for range 300 {
		j := judge{capacity: 1 + random.Int64N(20), refill: 1 + random.Int64N(5), per: 1 + random.Int64N(7), off: random.Int64N(3)}
		var log []admission
		at := int64(0)
		for range 30 {
			at += random.Int64N(10)
			a := admission{max(0, at-random.Int64N(2)*random.Int64N(5)), 1 + random.Int64N(5)}
			log = append(log, a)
			j.admit(a.at, a.cost)
		}
		worst := 0.0
		for _, from := range log {
			for _, to := range log {
				if to.at < from.at {
					continue
				}
				sum := int64(0)
				for _, a := range log {
					if a.at >= from.at && a.at <= to.at {
						sum += a.cost
					}
				}
				worst = max(worst, float64(sum-j.capacity)-float64((to.at-from.at+2*j.off)*j.refill)/float64(j.per))
			}
		}
		if over := j.overshoot(); math.Abs(over-worst) > 1e-9 {
			t.Fatalf("%+v: %.6f too many, and %.6f by all windows", j, over, worst)
		}
	}
}

// What is measured between these cities is about as much.
func TestDistances(t *testing.T) {
	for _, d := range []struct {
		city        string
		region      int
		least, most float64 // of the round trip, in milliseconds
	}{{"Frankfurt", 0, 85, 100}, {"Singapore", 0, 205, 240}, {"Washington", 0, 1, 5}, {"Tokyo", 2, 65, 85}, {"Sydney", 2, 85, 100}, {"London", 1, 8, 16}} {
		for i := range cities {
			if c := &cities[i]; c.name == d.city {
				if trip := 2 * float64(oneWay(c, &regions[d.region])) / 1e6; trip < d.least || trip > d.most {
					t.Errorf("%s to %s and back: %.1f ms", c.name, regions[d.region].name, trip)
				}
			}
		}
	}
	names := map[string]bool{}
	for _, c := range cities {
		names[c.name] = true
	}
	if len(names) != len(cities) || edges != 300 {
		t.Errorf("%d cities, of which %d differ, %d edges", len(cities), len(names), edges)
	}
}

// A sample stands for all keys and, about, for all checks.
func TestSample(t *testing.T) {
	seed := drawnSeed(t)
	for _, scale := range []float64{0.05, 0.3, 1, 3} {
		n, rate := 0.0, 0.0
		for _, d := range sample(scale, rand.New(rand.NewPCG(seed, 0))) {
			if d.rank < 1 || d.rank > keys {
				t.Fatal(d)
			}
			n += d.weight
			rate += d.weight * rateOf(d.rank)
		}
		if math.Abs(n-keys) > 1e-3 || scale >= 1 && math.Abs(rate/offered-1) > 0.02 {
			t.Errorf("scale %g: stands for %.3f keys, and %.3f of the checks", scale, n, rate/offered)
		}
	}
}

// The pictures of the page are those that this code draws.
func TestPicturesAreCurrent(t *testing.T) {
	folder := t.TempDir()
	if err := draw(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cities.svg", "messages.svg"} {
		drawn, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := os.ReadFile(filepath.Join("..", "..", "docs", "planet", name)); err != nil || !bytes.Equal(shown, drawn) {
			t.Errorf("docs/planet/%s is not current (%v): go run ./cluster-tests/planet --draw docs/planet", name, err)
		}
	}
}

func TestSettings(t *testing.T) {
	for i, want := range []string{"--scenario", "--consistency"} {
		err := report(io.Discard, io.Discard, settings{}, []string{"nothing", ""}[i], []string{"", "nothing"}[i])
		if err == nil || fmt.Sprint(err) != want+`: there is no "nothing"; --list lists the scenarios, --help the consistencies` {
			t.Error(err)
		}
	}
	for _, s := range []settings{{seconds: 1, scale: 1, used: 1, fill: 1}, {used: 1, fill: 1}, {scale: 1, fill: 1}, {scale: 1, used: 1}} {
		if s.check() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// In a burst that does not end, at eight edges, an eventual limit is used, and in the long run not exceeded.
func TestEventualInTheLongRun(t *testing.T) {
	s := short(drawnSeed(t))
	s.seconds = 150
	p := planOf(&s, &scenario{}, 12, rand.New(rand.NewPCG(s.seed, 1)))
	key := sized(5000, 1, everywhere(8 * 300 * 100)[:8], 8, 2)
	w := newWorld(p, key, policies()[2])
	w.run(w.end)
	var sum tally
	for i := range w.tallies {
		sum.add(&w.tallies[i], 1)
	}
	over := w.judge.overshoot()
	used := sum.admitted / (float64(key.refill) / 10 * p.counting())
	t.Logf("%.3f of the limit is used, and exceeded by %.0f tokens in some window, of at most %.0f; %.4f messages per check", used, over, w.bound(), sum.per(sum.messages))
	if used < 0.95 || w.beyond(over) > 0 {
		t.Errorf("seed %d: %.3f of the limit is used, and %.0f tokens more were admitted than is promised", s.seed, used, w.beyond(over))
	}
}
