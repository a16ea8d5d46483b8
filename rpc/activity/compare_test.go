package activity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// at is a Look so many seconds after the start.
func at(seconds float64, nodes ...Node) Look {
	l := Look{At: start.Add(time.Duration(seconds * 1e9)), Asked: "a"}
	for _, n := range nodes {
		n.Started, n.Now = start.Add(-time.Hour).Add(n.Started.Sub(time.Time{})), l.At
		l.Nodes = append(l.Nodes, n)
	}
	return l
}

// said is a node on which one limit has said so much.
func said(name string, allowed, denied float64) Node {
	return Node{Name: name, Limits: map[string]Counts{"login": {Allowed: allowed, Denied: denied, Errors: allowed / 10}}}
}

func TestCompare(t *testing.T) {
	anew := said("b", 40, 0)
	anew.Started = time.Time{}.Add(30 * time.Minute)
	silent := Node{Name: "b", Error: "it cannot be reached"}
	for _, test := range []struct {
		what          string
		before, after Look
		a, b          float64 // allowed a second
	}{
		{"both go on", at(0, said("a", 100, 0), said("b", 10, 0)), at(2, said("a", 300, 0), said("b", 20, 7)), 100, 5},
		{"only one look", Look{}, at(2, said("a", 300, 0), said("b", 20, 0)), 0, 0},
		{"one starts anew", at(0, said("a", 100, 0), said("b", 10, 0)), at(2, said("a", 100, 0), anew), 0, 20},
		{"one stops", at(0, said("a", 100, 0), said("b", 10, 0)), at(2, said("a", 102, 0), silent), 1, 0},
		{"one comes back", at(0, said("a", 100, 0), silent), at(2, said("a", 102, 0), said("b", 10, 0)), 1, 0},
		{"one is new", at(0, said("a", 100, 0)), at(2, said("a", 102, 0), said("b", 10, 0)), 1, 0},
		{"no time passes", at(0, said("a", 100, 0), said("b", 10, 0)), at(0, said("a", 300, 0), said("b", 20, 0)), 0, 0},
		{"time goes back", at(9, said("a", 100, 0), said("b", 10, 0)), at(0, said("a", 300, 0), said("b", 20, 0)), 0, 0},
	} {
		v := Compare(test.before, test.after)
		if a, b := v.Nodes[0].Allowed, v.Nodes[1].Allowed; a != test.a || b != test.b {
			t.Errorf("%s: %v and %v allowed a second, want %v and %v", test.what, a, b, test.a, test.b)
		}
		if want := (test.a + test.b) / 10; math.Abs(v.Total.Errors-want) > 1e-9 {
			t.Errorf("%s: %v errors a second, want %v", test.what, v.Total.Errors, want)
		}
	}
}

// TestCompareAtRandom compares looks at nodes whose counters jump, start anew and are missing: no rate is negative or not a number, and nodes
// and limits come to the same sum.
func TestCompareAtRandom(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for range 2000 {
		v := Compare(anyLook(random), anyLook(random))
		var nodes, limits [3]float64
		for _, n := range v.Nodes {
			nodes[0], nodes[1], nodes[2] = nodes[0]+n.Allowed, nodes[1]+n.Denied, nodes[2]+n.Errors
			wantRates(t, n.Rates)
			if math.IsNaN(n.FsyncP99) || n.FsyncP99 < 0 {
				t.Errorf("an fsync takes %v", n.FsyncP99)
			}
		}
		for _, l := range v.Limits {
			limits[0], limits[1], limits[2] = limits[0]+l.Allowed, limits[1]+l.Denied, limits[2]+l.Errors
			if l.Allowed < 0 || l.Denied < 0 || l.FailedOpen < 0 || l.FailedClosed < 0 || l.Errors < 0 || l.DeniedShare < 0 || l.DeniedShare > 1 || l.Used > 1 || l.Used < 0 && l.Used != -1 {
				t.Errorf("a limit does %+v", l)
			}
		}
		for i := range nodes {
			if math.Abs(nodes[i]-limits[i]) > 1e-6*max(1, nodes[i]) {
				t.Errorf("nodes do %v, limits %v", nodes, limits)
			}
		}
		for _, g := range v.Gateways {
			wantRates(t, g.Rates)
		}
		wantRates(t, v.Total)
		if math.Abs(v.Total.Allowed-limits[0]) > 1e-6*max(1, limits[0]) {
			t.Errorf("the total is %v, and of limits %v", v.Total.Allowed, limits[0])
		}
		for _, k := range v.Keys {
			if k.Denied < 0 || k.Denied > 1 || k.PerSecond < 0 {
				t.Errorf("a key has %+v", k)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func wantRates(t *testing.T, r Rates) {
	t.Helper()
	for _, n := range []float64{r.Allowed, r.Denied, r.FailedOpen, r.FailedClosed, r.Errors, r.P50, r.P99} {
		if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
			t.Errorf("rates are %+v", r)
			return
		}
	}
	if r.P50 > r.P99 {
		t.Errorf("half take less than %v ms and 99 %% less than %v ms", r.P50, r.P99)
	}
}

// anyLook is a Look at some of three nodes.
func anyLook(random *rand.Rand) Look {
	l := Look{At: start.Add(time.Duration(random.Int64N(int64(5 * time.Second)))), Asked: "a"}
	for _, name := range []string{"a", "b", "c"} {
		switch random.IntN(6) {
		case 0:
			continue
		case 1:
			l.Nodes = append(l.Nodes, Node{Name: name, Error: "it cannot be reached"})
			continue
		}
		n := Node{Name: name, Started: start.Add(-time.Duration(random.IntN(2)) * time.Hour), Limits: map[string]Counts{}, Errors: map[string]float64{}}
		n.Now = l.At.Add(time.Duration(random.Int64N(int64(3*time.Second)) - int64(time.Second)))
		for i := range random.IntN(4) {
			n.Limits[fmt.Sprint("l", i)] = Counts{Allowed: anyCount(random), Denied: anyCount(random), Spared: anyCount(random), Errors: anyCount(random)}
			n.Errors[fmt.Sprint("e", i)] = anyCount(random)
		}
		n.Latency, n.Fsync = anyHistogram(random), anyHistogram(random)
		for range random.IntN(4) {
			n.Keys = append(n.Keys, Key{
				Key: fmt.Sprint("k", random.IntN(5)), Escaped: fmt.Sprint("k", random.IntN(5)), PerSecond: anyCount(random), Denied: random.Float64(),
				Buckets: []Bucket{{Limit: fmt.Sprint("l", random.IntN(4)), Used: random.Float64()}},
			})
		}
		for i := range random.IntN(3) {
			g := anyGateway(random, i)
			if random.IntN(2) == 0 {
				before := anyGateway(random, i)
				g.Before = &before
			}
			n.Gateways = append(n.Gateways, g)
		}
		l.Nodes = append(l.Nodes, n)
	}
	return l
}

func anyCount(random *rand.Rand) float64 { return float64(random.IntN(1000) * random.IntN(2)) }

func anyHistogram(random *rand.Rand) Histogram {
	h := Histogram{Bounds: []float64{0.001, 0.01, 0.1}[:random.IntN(4)]}
	if len(h.Bounds) > 0 {
		for range len(h.Bounds) + 1 {
			h.Counts = append(h.Counts, anyCount(random))
		}
	}
	return h
}

func anyGateway(random *rand.Rand, i int) Gateway {
	return Gateway{
		Name: fmt.Sprint("g", i), Started: start.Add(-time.Duration(random.IntN(2)) * time.Hour), Now: start.Add(time.Duration(random.Int64N(int64(time.Minute)))),
		Requests: map[string]float64{"admitted": anyCount(random), "denied": anyCount(random)}, FailedOpen: map[string]float64{"l1": anyCount(random)}, FailedClosed: map[string]float64{"l2": anyCount(random)},
		Latency: anyHistogram(random),
	}
}

// TestMergeKeys makes one key of what several nodes decide.
func TestMergeKeys(t *testing.T) {
	busiest, denied := mergeKeys([]Node{
		{Name: "a", Keys: []Key{
			{Key: "x", Escaped: "x", PerSecond: 100, Denied: 0, Limits: []string{"l"}, Buckets: []Bucket{{Limit: "l", Used: 0.2}}},
			{Key: "y", Escaped: "y", PerSecond: 90, Denied: 0.5},
		}},
		{Name: "b", Keys: []Key{
			{Key: "x", Escaped: "x", PerSecond: 300, Denied: 0.4, Hot: true, Limits: []string{"l", "m"}, Buckets: []Bucket{{Limit: "l", Used: 0.1}, {Limit: "m", Used: 1}}},
			{Key: "z", Escaped: "z", PerSecond: 95, Denied: 0},
		}},
	})
	names := func(keys []Key) (all []string) {
		for _, k := range keys {
			all = append(all, k.Node+":"+k.Key)
		}
		return all
	}
	if got := names(busiest); !slices.Equal(got, []string{"b:x", "b:z", "a:y"}) {
		t.Errorf("the busiest are %v", got)
	}
	if got := names(denied); !slices.Equal(got, []string{"b:x", "a:y"}) {
		t.Errorf("denied most are %v", got)
	}
	x := busiest[0]
	if x.PerSecond != 400 || math.Abs(x.Denied-0.3) > 1e-9 || !x.Hot || !slices.Equal(x.Limits, []string{"l", "m"}) || !slices.Equal(x.Buckets, []Bucket{{Limit: "l", Used: 0.2}, {Limit: "m", Used: 1}}) {
		t.Errorf("got %+v", x)
	}
}
