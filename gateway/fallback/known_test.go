package fallback

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

// A world is a cluster that decides by buckets in memory, and counts what it is asked.
type world struct {
	hand

	doc     *limit.Document
	buckets map[bucketID]*limit.Memory
	trip    time.Duration // to the cluster, and back again
	asked   int
	node    string // that answers
}

func newWorld(tb testing.TB, limits ...limit.Limit) *world {
	tb.Helper()
	doc, err := limit.NewDocument(limits...)
	if err != nil {
		tb.Fatal(err)
	}
	return &world{hand: hand{now: noon}, doc: doc, buckets: map[bucketID]*limit.Memory{}}
}

func (w *world) guard(tb testing.TB, known time.Duration) *Guard {
	tb.Helper()
	return guard(tb, Config{Checker: w, Limits: func() *limit.Document { return w.doc }, Known: known, Now: w.read})
}

// Check implements [limit.Checker].
func (w *world) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	w.asked++
	w.move(w.trip)
	defer w.move(w.trip)
	return w.decide(&r, true), nil
}

// decide is what the cluster decides; it takes the cost only if take says so.
func (w *world) decide(r *limit.Request, take bool) limit.Decision {
	now, d := w.read(), limit.Decision{Allowed: true, Node: w.node}
	bucket := func(ref limit.Ref) (*limit.Memory, *limit.Rule) {
		rule, _ := w.doc.Rule(ref.Name)
		id := bucketID{ref.Name, r.Key}
		if w.buckets[id] == nil {
			w.buckets[id] = new(limit.Memory)
		}
		return w.buckets[id], rule
	}
	for _, ref := range r.Limits {
		b, rule := bucket(ref)
		d.Allowed = d.Allowed && b.Allows(rule, now, r.Tokens())
	}
	for _, ref := range r.Limits {
		b, rule := bucket(ref)
		if d.Allowed && take {
			d.Limits = append(d.Limits, b.Decide(rule, now, r.Tokens()))
		} else {
			d.Limits = append(d.Limits, b.Look(rule, now, r.Tokens()))
		}
	}
	return d
}

// First is the node that decides first.
func (w *world) First(string) string { return "first" }

// TestKnownDenialsHold asks at random, under limits of every algorithm: where a denial is repeated, the cluster would have denied as
// well, and no client is told to wait longer than it must,
// but for the time that the answer was on its way.
func TestKnownDenialsHold(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	repeated, admitted := 0, 0
	for round := range 60 {
		var limits []limit.Limit
		for i, algorithm := range limit.Algorithms() {
			limits = append(limits, limittest.Of(algorithm, fmt.Sprint("limit", i), 1+rng.Int64N(6), limit.Refill{Tokens: 1 + rng.Int64N(8), Per: time.Second}))
		}
		w := newWorld(t, limits...)
		w.node, w.trip = "first", time.Duration(rng.Int64N(int64(5*time.Millisecond)))
		g := w.guard(t, time.Duration(rng.Int64N(int64(MaxKnown))+1))
		for range 2000 {
			w.move(time.Duration(rng.Int64N(int64(15 * time.Millisecond))))
			r := limit.Request{Key: fmt.Sprint("k", rng.IntN(2)), Cost: 1 + rng.Int64N(3)}
			for _, at := range rng.Perm(len(limits))[:1+rng.IntN(2)] {
				r.Limits = append(r.Limits, limit.Named(limits[at].Name))
			}
			before := w.decide(&r, false)
			v := g.Check(t.Context(), r, limit.Deny)
			switch v.Source {
			case ByKnown:
				repeated++
				if v.Allowed || before.Allowed || v.Node != "first" {
					t.Fatalf("round %d: %+v is repeated for %+v, and the cluster says %+v", round, v, r, before)
				}
				told, must := longest(v.Decision), longest(before)
				if never := slices.ContainsFunc(v.Limits, func(o limit.Outcome) bool { return o.Never }); told > must+w.trip || told == 0 && !never {
					t.Fatalf("round %d: %+v is told to wait %v, and must %v", round, r, told, must)
				}
				if age := w.read() - v.Since.UnixNano(); age < 0 || age >= int64(MaxKnown) {
					t.Fatalf("a denial is known for %v", time.Duration(age))
				}
			case ByCluster:
				if v.Allowed {
					admitted++
				}
			default:
				t.Fatalf("%+v", v)
			}
		}
	}
	if repeated < 5_000 || admitted < 5_000 {
		t.Errorf("%d denials were repeated and %d requests admitted: too few to tell", repeated, admitted)
	}
}

func longest(d limit.Decision) (wait time.Duration) {
	for _, o := range d.Limits {
		wait = max(wait, o.RetryAfter)
	}
	return wait
}

// TestKnownFlood floods one key: of ten thousand denials in ten seconds the cluster decides a few, and admits what the limit has.
func TestKnownFlood(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := newWorld(t, limit.Limit{Name: "slow", Capacity: 2, Refill: limit.Refill{Tokens: 1, Per: 4 * time.Second}})
	w.node = "first"
	g := guard(t, Config{Checker: w, Limits: func() *limit.Document { return w.doc }, Known: MaxKnown, Now: w.read, Registerer: registry})
	admitted := 0
	for range 10_000 {
		if g.Check(t.Context(), ask("k", "slow"), limit.Allow).Allowed {
			admitted++
		}
		w.move(time.Millisecond)
	}
	if admitted != 4 || w.asked > 25 {
		t.Errorf("%d were admitted, want 4; the cluster was asked %d times, want 25 at most", admitted, w.asked)
	}
	all := series(t, registry)
	if all["jeton_fallback_checks_total known"] != float64(10_000-w.asked) || all["jeton_fallback_checks_total cluster"] != float64(w.asked) {
		t.Errorf("%v", all)
	}
}

// TestAskedAgain has what the cluster might decide otherwise asked of it each time.
func TestAskedAgain(t *testing.T) {
	minute := limit.Limit{Name: "minute", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Minute}, MaxWait: time.Second}
	penalty := minute
	penalty.Name, penalty.Penalty = "penalty", limit.Penalty{After: 3, For: time.Minute, Max: time.Hour}
	permits := limit.Limit{Name: "permits", Algorithm: limittest.Of("concurrency", "permits", 1, limit.Refill{Tokens: 1, Per: time.Minute}).Algorithm, Capacity: 1, Lease: time.Minute}
	inline := limit.Limit{Name: "inline", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Minute}}
	free := limit.Limit{Name: "free", Capacity: 9, Refill: limit.Refill{Tokens: 1, Per: time.Minute}}
	denied := func(limits ...string) limit.Decision {
		d := limit.Decision{Node: "first"}
		for _, name := range limits {
			d.Limits = append(d.Limits, limit.Outcome{Name: name, Limit: 1, RetryAfter: time.Minute, Allowed: name == "free"})
		}
		return d
	}
	closed, never, elsewhere, unknown := denied("penalty"), denied("minute"), denied("minute"), denied("unknown")
	live, livePermits, livePenalty, livePlan := denied("minute"), denied("permits"), denied("penalty"), denied("minute")
	for _, d := range []limit.Decision{unknown, live, livePermits, livePenalty} {
		d.Limits[0].Override = `deny for "k"`
	}
	livePlan.Limits[0].Plan = "gold"
	closed.Limits[0].Closed = true
	never.Limits[0].Never, never.Limits[0].RetryAfter = true, 0
	elsewhere.Node = "second"
	for what, c := range map[string]struct {
		request limit.Request
		answer  limit.Decision
		other   func(r *limit.Request, w *world) // before the second request
		want    int
	}{
		"the same":               {ask("k", "minute"), denied("minute"), nil, 1},
		"one of two":             {ask("k", "free", "minute"), denied("free", "minute"), nil, 1},
		"that never passes":      {ask("k", "minute"), never, nil, 1},
		"a closed bucket":        {ask("k", "penalty"), closed, nil, 1},
		"a counted denial":       {ask("k", "penalty"), denied("penalty"), nil, 2},
		"permits":                {ask("k", "permits"), denied("permits"), nil, 2},
		"permits, and a minute":  {ask("k", "permits", "minute"), denied("permits", "minute"), nil, 1},
		"a limit of its own":     {limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(inline)}}, denied("inline"), nil, 2},
		"of another node":        {ask("k", "minute"), elsewhere, nil, 2},
		"a live override":        {ask("k", "minute"), live, nil, 1},
		"one of permits":         {ask("k", "permits"), livePermits, nil, 2},
		"one with a penalty":     {ask("k", "penalty"), livePenalty, nil, 2},
		"an unknown limit":       {ask("k", "unknown"), unknown, nil, 2},
		"an unknown plan":        {ask("k", "minute"), livePlan, nil, 2},
		"that may wait":          {limit.Request{Key: "k", Limits: ask("", "minute").Limits, Wait: time.Second}, denied("minute"), nil, 2},
		"that holds":             {limit.Request{Key: "k", Limits: ask("", "minute").Limits, Hold: time.Minute}, denied("minute"), nil, 2},
		"that has an id":         {limit.Request{Key: "k", Limits: ask("", "minute").Limits, ID: "a"}, denied("minute"), nil, 2},
		"another one has an id":  {ask("k", "minute"), denied("minute"), func(r *limit.Request, _ *world) { r.ID = "a" }, 2},
		"another key":            {ask("k", "minute"), denied("minute"), func(r *limit.Request, _ *world) { r.Key = "l" }, 2},
		"another cost":           {ask("k", "minute"), denied("minute"), func(r *limit.Request, _ *world) { r.Cost = 2 }, 2},
		"one limit more":         {ask("k", "minute"), denied("minute"), func(r *limit.Request, _ *world) { r.Limits = ask("", "minute", "free").Limits }, 2},
		"a cost by default":      {ask("k", "minute"), denied("minute"), func(r *limit.Request, _ *world) { r.Cost = 0 }, 1},
		"other limits in force":  {ask("k", "minute"), denied("minute"), func(_ *limit.Request, w *world) { w.doc = newWorld(t, minute, free).doc }, 2},
		"a second later":         {ask("k", "minute"), denied("minute"), func(_ *limit.Request, w *world) { w.move(MaxKnown) }, 2},
		"some time later":        {ask("k", "minute"), denied("minute"), func(_ *limit.Request, w *world) { w.move(800 * time.Millisecond) }, 1},
		"a clock that goes back": {ask("k", "minute"), denied("minute"), func(_ *limit.Request, w *world) { w.move(-1) }, 2},
	} {
		w := newWorld(t, minute, penalty, permits, free)
		asked := 0
		g := guard(t, Config{
			Checker: first{fake{check: func(context.Context, limit.Request) (limit.Decision, error) { asked++; return c.answer, nil }}},
			Limits:  func() *limit.Document { return w.doc }, Known: MaxKnown, Now: w.read,
		})
		r := c.request
		g.Check(t.Context(), r, limit.Deny)
		if c.other != nil {
			c.other(&r, w)
		}
		if v := g.Check(t.Context(), r, limit.Deny); v.Allowed || asked != c.want || (v.Source == ByKnown) != (c.want == 1) {
			t.Errorf("%s: %+v after %d questions, want %d", what, v, asked, c.want)
		}
	}
}

// TestDenialByOtherNumbers has a denial come from a node that goes by other limits than the gateway, since one of them has not heard of a change yet.
// It is not taken for one by the limits that the gateway has.
func TestDenialByOtherNumbers(t *testing.T) {
	doc, err := limit.ParseDocument([]byte(`
limits:
  minute:
    {capacity: 10, refill: 10/1m, plans: {gold: {capacity: 50, refill: 50/1m}}, overrides: [{key: big, capacity: 90, refill: 90/1m}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []limit.Outcome{
		{Name: "minute", Limit: 10},
		{Name: "minute", Limit: 50, Plan: "gold"},
		{Name: "minute", Limit: 90, Override: doc.Override("minute", "big", func() int64 { return 0 }).Text},
	} {
		for _, change := range []int64{0, 1, -1} {
			w := newWorld(t)
			o, asked := by, 0
			o.Limit, o.RetryAfter = by.Limit+change, time.Minute
			g := guard(t, Config{
				Checker: first{fake{check: func(context.Context, limit.Request) (limit.Decision, error) {
					asked++
					return limit.Decision{Node: "first", Limits: []limit.Outcome{o}}, nil
				}}},
				Limits: func() *limit.Document { return doc }, Known: MaxKnown, Now: w.read,
			})
			r := limit.Request{Key: "big", Cost: 1, Plan: o.Plan, Limits: []limit.Ref{limit.Named("minute")}}
			g.Check(t.Context(), r, limit.Deny)
			g.Check(t.Context(), r, limit.Deny)
			if want := 1 + int(change*change); asked != want {
				t.Errorf("%+v, with %d more: asked %d times, want %d", by, change, asked, want)
			}
		}
	}
}

// TestRepeatedIsTold repeats a denial, and has the next one not known: because another node made it, or because it ends at once. It says all
// the same how many times the one before was repeated.
func TestRepeatedIsTold(t *testing.T) {
	minute := limit.Limit{Name: "minute", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Minute}}
	for what, next := range map[string]func(d *limit.Decision){
		"the same":        func(*limit.Decision) {},
		"of another node": func(d *limit.Decision) { d.Node = "second" },
		"that ends":       func(d *limit.Decision) { d.Limits[0].RetryAfter = 0 },
	} {
		w := newWorld(t, minute)
		deny := func(*limit.Decision) {}
		g := guard(t, Config{
			Checker: first{fake{check: func(context.Context, limit.Request) (limit.Decision, error) {
				d := limit.Decision{Node: "first", Limits: []limit.Outcome{{Name: "minute", Limit: 1, RetryAfter: time.Minute}}}
				deny(&d)
				return d, nil
			}}},
			Limits: func() *limit.Document { return w.doc }, Known: MaxKnown, Now: w.read,
		})
		for range 4 {
			g.Check(t.Context(), ask("k", "minute"), limit.Deny)
		}
		w.move(MaxKnown)
		deny = next
		if v := g.Check(t.Context(), ask("k", "minute"), limit.Deny); v.Source != ByCluster || v.Repeated != 3 {
			t.Errorf("%s: %+v, want 3 repetitions", what, v)
		}
	}
}

// TestKnownByCost alternates between costs, as a client does that wants its requests to reach the cluster.
func TestKnownByCost(t *testing.T) {
	w := newWorld(t, limit.Limit{Name: "slow", Capacity: 3, Refill: limit.Refill{Tokens: 1, Per: time.Hour}})
	w.node = "first"
	g := w.guard(t, MaxKnown)
	for i := range 300 {
		r := ask("k", "slow")
		r.Cost = 1 + int64(i%3)
		g.Check(t.Context(), r, limit.Deny)
	}
	if w.asked > 8 { // 1 + 2, and one denial of each cost
		t.Errorf("the cluster was asked %d times", w.asked)
	}
}

// A first is a cluster that knows which node decides first.
type first struct{ fake }

// First is that node.
func (first) First(string) string { return "first" }

// TestKnownAtOnce denies some keys from many goroutines at once, and has the clock go on: no denial is repeated for longer than it holds, and
// no more repetitions are told than there were.
func TestKnownAtOnce(t *testing.T) {
	doc := newWorld(t, limit.Limit{Name: "minute", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Minute}}).doc
	var clock, repeated, told atomic.Int64
	clock.Store(noon)
	g := guard(t, Config{
		Checker: first{fake{check: func(context.Context, limit.Request) (limit.Decision, error) {
			return limit.Decision{Node: "first", Limits: []limit.Outcome{{Name: "minute", Limit: 1, RetryAfter: 20 * time.Millisecond}}}, nil
		}}},
		Limits: func() *limit.Document { return doc }, Known: MaxKnown, Now: clock.Load,
	})
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for i := range 3000 {
				v := g.Check(t.Context(), ask(fmt.Sprint("k", i%3), "minute"), limit.Deny)
				now := clock.Add(int64(time.Millisecond))
				switch v.Source {
				case ByKnown:
					repeated.Add(1)
					if v.Allowed || v.Limits[0].RetryAfter <= 0 || v.Since.UnixNano() > now {
						t.Errorf("%+v", v)
					}
				case ByCluster:
					told.Add(v.Repeated)
				default:
					t.Errorf("%+v", v)
				}
			}
		})
	}
	asking.Wait()
	if n := repeated.Load(); n < 3000 || told.Load() > n || told.Load() < n/2 {
		t.Errorf("%d denials were repeated, and %d told", n, told.Load())
	}
}

// TestKnownIsBounded floods with more keys than are remembered.
func TestKnownIsBounded(t *testing.T) {
	w := newWorld(t, limit.Limit{Name: "none", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour}})
	w.node = "first"
	g := w.guard(t, MaxKnown)
	const keys = 3 * knownShards * knownPerShard
	for i := range keys {
		r := ask(fmt.Sprint("k", i), "none")
		r.Cost = 2 // never
		g.Check(t.Context(), r, limit.Deny)
	}
	size := 0
	for i := range g.known.shards {
		size += len(g.known.shards[i].young) + len(g.known.shards[i].old)
	}
	if size > knownShards*knownPerShard || size < knownShards*knownPerShard*9/10 {
		t.Errorf("%d denials are known, of at most %d", size, knownShards*knownPerShard)
	}
	for turn := range 2 { // those of the seconds before go
		w.move(MaxKnown)
		for i := range 100 * knownShards {
			r := ask(fmt.Sprint("l", turn, i), "none")
			r.Cost = 2
			g.Check(t.Context(), r, limit.Deny)
		}
	}
	size = 0
	for i := range g.known.shards {
		size += len(g.known.shards[i].young) + len(g.known.shards[i].old)
	}
	if size > 200*knownShards {
		t.Errorf("%d denials are in memory, of which %d are known", size, 100*knownShards)
	}
}

// TestKnownFor holds what the configuration may say.
func TestKnownFor(t *testing.T) {
	w := newWorld(t, limit.Limit{Name: "none", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour}})
	for _, wrong := range []time.Duration{-1, MaxKnown + 1} {
		if g, err := New(Config{Checker: w, Limits: func() *limit.Document { return w.doc }, Known: wrong}); err == nil {
			g.Close()
			t.Errorf("%v is taken", wrong)
		}
	}
	g := w.guard(t, 0)
	for range 5 {
		g.Check(t.Context(), ask("k", "none"), limit.Deny)
	}
	if w.asked != 5 {
		t.Errorf("the cluster was asked %d of 5 times", w.asked)
	}
}

// BenchmarkKnown measures a denial that is repeated.
func BenchmarkKnown(b *testing.B) {
	w := newWorld(b, limit.Limit{Name: "none", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour}})
	w.node = "first"
	g := w.guard(b, MaxKnown)
	r := ask("k", "none")
	r.Cost = 2
	g.Check(b.Context(), r, limit.Deny)
	b.ReportAllocs()
	for b.Loop() {
		if v := g.Check(b.Context(), r, limit.Deny); v.Source != ByKnown {
			b.Fatal(v)
		}
	}
}
