package edge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const stored = `
limits:
  api:    {capacity: 1000, refill: 100/s, consistency: leased}
  small:  {capacity: 10, refill: 1/s, consistency: leased}
  page:   {algorithm: fixed-window, limit: 600, window: 1m, consistency: leased}
  strong: {capacity: 50, refill: 1/h}
  hot:    {capacity: 1000, refill: 100/s, hot: lease}
  wide:   {capacity: 10000, refill: 1000/s, hot: lease}
  plans:  {capacity: 1000, refill: 100/s, consistency: leased, plans: {pro: {capacity: 2000, refill: 200/s}}}
`

func document(tb testing.TB, text string) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// A bed is one node, and edges at a distance.
type bed struct {
	tb     testing.TB
	doc    atomic.Pointer[limit.Document]
	system *actor.System
	delay  time.Duration // to the node, and back
	late   atomic.Int64  // by how much longer that takes, in nanoseconds
	cut    atomic.Bool
	asked  atomic.Int64    // checks that reached the node, without those for leases
	leases atomic.Int64    // checks for leases that did
	life   context.Context //nolint:containedctx // of what runs in the background
	end    context.CancelFunc
	wait   sync.WaitGroup
	edges  []*edge.Edge
}

// newBed makes one, in a bubble.
func newBed(tb testing.TB, edges int) *bed {
	tb.Helper()
	b := &bed{tb: tb, delay: time.Millisecond}
	b.doc.Store(document(tb, stored))
	b.life, b.end = context.WithCancel(context.Background())
	now := clock.New().Now
	var err error
	b.system, err = actor.New(actor.Config{
		Node: "here", Now: now, Limits: b.doc.Load, Replicas: []actor.Replica{&registers{now: now, byBucket: map[[2]string]register.Register{}}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range edges {
		e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: b.doc.Load, Go: b.background, Edges: edges, Name: fmt.Sprintf("edge-%d", i+1)})
		if err != nil {
			tb.Fatal(err)
		}
		b.edges = append(b.edges, e)
	}
	return b
}

func (b *bed) background(f func(context.Context)) bool {
	if b.life.Err() != nil {
		return false
	}
	b.wait.Go(func() { f(b.life) })
	return true
}

func (b *bed) close() {
	for _, e := range b.edges {
		e.Close()
	}
	b.end()
	b.wait.Wait()
	b.system.Close()
}

// far is the node as an edge sees it.
type far struct {
	limit.Limiter

	bed *bed
}

func (f far) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if r.Lease != nil {
		f.bed.leases.Add(1)
	} else {
		f.bed.asked.Add(1)
	}
	if err := f.travel(ctx); err != nil {
		return limit.Decision{}, err
	}
	d, err := f.Limiter.Check(ctx, r)
	if err := f.travel(ctx); err != nil {
		return limit.Decision{}, err
	}
	return d, err
}

func (f far) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	if rs[0].Charge {
		f.bed.asked.Add(1)
	}
	err := f.travel(ctx)
	if err == nil {
		copy(results, f.Limiter.CheckBatch(ctx, rs))
		err = f.travel(ctx)
	}
	for i := range results {
		if err != nil {
			results[i] = limit.Result{Err: err}
		}
	}
	return results
}

func (f far) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := f.travel(ctx); err != nil {
		return nil, err
	}
	return f.Limiter.Return(ctx, key, receipts)
}

func (f far) travel(ctx context.Context) error {
	select {
	case <-time.After(f.bed.delay + time.Duration(f.bed.late.Load())):
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.bed.cut.Load() {
		return fmt.Errorf("%w: cut off", limit.ErrUnavailable)
	}
	return nil
}

func of(key string, cost int64, names ...string) limit.Request {
	r := limit.Request{Key: key, Cost: cost}
	for _, name := range names {
		r.Limits = append(r.Limits, limit.Named(name))
	}
	return r
}

func (b *bed) check(e int, r limit.Request) limit.Decision {
	b.tb.Helper()
	d, err := b.edges[e].Check(b.tb.Context(), r)
	if err != nil {
		b.tb.Fatal(err)
	}
	return d
}

// spend checks at the first edge at a steady pace, and says how many checks were admitted.
func (b *bed) spend(r limit.Request, every, lasts time.Duration) (admitted int) {
	b.tb.Helper()
	for range int(lasts / every) {
		if b.check(0, r).Allowed {
			admitted++
		}
		pass(every)
	}
	return admitted
}

// pass lets time pass, in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// What an edge spends steadily it decides by itself.
func TestDecidesHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		if got := b.spend(of("k", 1, "api"), 20*time.Millisecond, 20*time.Second); got != 1000 {
			t.Errorf("%d of 1000 are admitted", got)
		}
		if asked, leases := b.asked.Load(), b.leases.Load(); asked > 5 || leases > 15 {
			t.Errorf("%d checks and %d leases were asked of the node, for 1,000 checks", asked, leases)
		}
		d := b.check(0, of("k", 1, "api"))
		o := d.Limits[0]
		if d.Node != "" || !o.Allowed || o.Limit != 1000 || o.Remaining < 700 || o.Remaining > 1000 || o.ResetAfter <= 0 || o.ResetAfter > 3*time.Second {
			t.Errorf("decided %+v", d)
		}
	})
}

// While the node cannot be reached, an edge goes on with what it holds, and no further.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "api"), 20*time.Millisecond, 5*time.Second)
		b.cut.Store(true)
		admitted, failed := 0, 0
		for range 500 {
			d, err := b.edges[0].Check(t.Context(), of("k", 1, "api"))
			switch {
			case errors.Is(err, limit.ErrUnavailable):
				failed++
			case err != nil || !d.Allowed:
				t.Fatal(d, err)
			default:
				admitted++
			}
			pass(20 * time.Millisecond)
		}
		if admitted < 20 || admitted > 150 || admitted+failed != 500 {
			t.Errorf("%d were admitted, and %d failed", admitted, failed)
		}
		b.cut.Store(false)
		pass(2 * time.Second)
		if got := b.spend(of("k", 1, "api"), 20*time.Millisecond, time.Second); got != 50 {
			t.Errorf("%d of 50 are admitted once it is back", got)
		}
	})
}

// Whatever several edges do, with all kinds of requests, no window has more than the bucket, and in the long run most of the limit is used.
func TestEdgesKeepTheLimit(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for name, burst := range map[string]int64{"api": 1000, "small": 10, "page": 600, "hot": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { keepTheLimit(t, name, burst, seed) })
		})
	}
}

func keepTheLimit(t *testing.T, name string, burst int64, seed uint64) {
	t.Helper()
	b := newBed(t, 4)
	defer b.close()
	random := rand.New(rand.NewPCG(seed, 0))
	type admission struct{ at, cost int64 }
	var mu sync.Mutex
	var all []admission
	var checks, returned atomic.Int64
	note := func(at, cost int64) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, admission{at, cost})
	}
	start := time.Now().UnixNano()
	rule, _ := b.doc.Load().Rule(name)
	offered := 1.5e9 / rule.PerToken() // half as much again as refills
	var wait sync.WaitGroup
	for i := range b.edges {
		random := rand.New(rand.NewPCG(random.Uint64(), 0))
		wait.Go(func() {
			for time.Now().UnixNano() < start+int64(120*time.Second) {
				pass(time.Duration(random.ExpFloat64() * 1e9 * float64(len(b.edges)) / offered))
				r := of("k", 1, name)
				r.Receipt = random.IntN(3) == 0
				d := b.check(i, r)
				checks.Add(1)
				if !d.Allowed {
					continue
				}
				note(time.Now().UnixNano(), r.Cost)
				if r.Receipt && random.IntN(2) == 0 {
					back, err := b.edges[i].Return(t.Context(), "k", d.Receipts)
					if err != nil {
						t.Error(err)
					}
					if len(back) == 1 && back[0] {
						note(time.Now().UnixNano(), -r.Cost)
						returned.Add(1)
					}
				}
				if random.IntN(50) == 0 { // it goes away for a while
					pass(time.Duration(random.Int64N(int64(3 * time.Second))))
				}
			}
		})
	}
	wait.Wait()
	if b.leases.Load() == 0 {
		t.Errorf("seed %d: no lease was asked for", seed)
	}
	slices.SortStableFunc(all, func(x, y admission) int { return int(x.at - y.at) })
	level, last, net := 0.0, start, int64(0)
	for _, a := range all {
		level = max(level-float64(a.at-last)/rule.PerToken(), 0) + float64(a.cost)
		last, net = a.at, net+a.cost
		if bound := 2 * burst; name == "page" && level > float64(bound) || name != "page" && level > float64(burst)+1e-6 {
			t.Fatalf("seed %d: %.1f more than comes back were admitted in a window that ends after %v", seed, level, time.Duration(last-start))
		}
	}
	most := min(float64(checks.Load()-returned.Load()), float64(120e9)/rule.PerToken()) // but for what is returned too late to be used again
	if float64(net) < 0.85*most {
		t.Errorf("seed %d: %d were admitted of about %.0f", seed, net, most)
	}
}

// A check of several limits takes of all, or of none.
func TestAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		all := of("k", 1, "api", "strong", "page")
		if got := b.spend(all, 20*time.Millisecond, 4*time.Second); got != 50 {
			t.Errorf("%d are admitted, want 50, which is the strong limit", got)
		}
		d := b.check(0, all)
		if d.Allowed || !d.Limits[0].Allowed || d.Limits[1].Allowed || !d.Limits[2].Allowed || d.Limits[0].Name != "api" || d.Limits[1].Name != "strong" || d.Limits[2].Name != "page" {
			t.Errorf("denied %+v", d)
		}
		pass(10 * time.Second)
		for name, want := range map[string]int64{"api": 1000, "page": 550} {
			if got := b.check(0, limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named(name)}}).Limits[0].Remaining; got < want-12 || got > want {
				t.Errorf("%s has %d left, want %d, but for what was leased and not spent", name, got, want)
			}
		}
		if d := b.check(0, of("other", 51, "api", "strong")); d.Allowed || !d.Limits[1].Never {
			t.Errorf("decided %+v", d)
		}
	})
}

// Receipts of what was spent here come back here, once; those of the cluster there.
func TestReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 2)
		defer b.close()
		b.spend(of("k", 1, "api"), 10*time.Millisecond, time.Second)
		r := of("k", 2, "api", "page")
		r.Receipt = true
		var receipts []limit.Receipt
		for range 20 {
			d := b.check(0, r)
			if !d.Allowed || len(d.Receipts) != 2 || d.Receipts[0].Limit != "api" || d.Receipts[1].Limit != "page" {
				t.Fatalf("decided %+v", d)
			}
			receipts = append(receipts, d.Receipts...)
			pass(10 * time.Millisecond)
		}
		if back, err := b.edges[1].Return(t.Context(), "k", receipts[len(receipts)-2:]); err != nil || back[0] || back[1] {
			t.Errorf("another edge takes back %v, %v", back, err)
		}
		back, err := b.edges[0].Return(t.Context(), "k", receipts)
		if err != nil || len(back) != 40 {
			t.Fatal(back, err)
		}
		took := 0
		for _, took1 := range back {
			if took1 {
				took++
			}
		}
		if took < 10 {
			t.Errorf("%d of 40 receipts come back", took)
		}
		again, err := b.edges[0].Return(t.Context(), "k", receipts)
		if err != nil || slices.Contains(again, true) {
			t.Errorf("they come back again: %v, %v", again, err)
		}
	})
}

// A node leases by the edge's numbers and clock, or not at all, and shows who holds what.
func TestWhatIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "api"), 10*time.Millisecond, 2*time.Second)
		in, err := b.edges[0].Inspect(t.Context(), "k", limit.Named("api"), "")
		if err != nil || len(in.Leases) == 0 || in.Leases[0].Edge != "edge-1" || in.LeasedTokens(&in.Leases[len(in.Leases)-1]) == 0 {
			t.Errorf("shown %+v, %v", in.Leases, err)
		}
		if o := b.check(0, limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named("api")}}).Limits[0]; o.Leased == 0 || o.Leased > 400 {
			t.Errorf("a look shows %+v", o)
		}
		if err := b.edges[0].Reset(t.Context(), "k", limit.Named("api")); err != nil {
			t.Fatal(err)
		}
		if leases, tokens := b.edges[0].Held(); leases != 0 || tokens != 0 {
			t.Errorf("after a reset %d leases with %d tokens are held", leases, tokens)
		}
	})
}

// A limit that is changed ends what is held under it.
func TestLimitChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "api"), 10*time.Millisecond, 2*time.Second)
		b.doc.Store(document(t, "limits: {api: {capacity: 10, refill: 1/h, consistency: leased}}"))
		got := b.spend(of("k", 1, "api"), 10*time.Millisecond, time.Second)
		if got > 10 {
			t.Errorf("%d are admitted under the new limit of 10", got)
		}
		b.doc.Store(document(t, "limits: {api: {capacity: 1000, refill: 100/s}}"))
		asked := b.asked.Load()
		b.spend(of("other", 1, "api"), 10*time.Millisecond, time.Second)
		if now := b.asked.Load(); now != asked+100 {
			t.Errorf("of a limit that is strong, %d of 100 checks were asked of the node", now-asked)
		}
	})
}

// Who names a plan spends by its numbers; one that is not there is the cluster's to refuse.
func TestPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		r := of("k", 1, "plans")
		r.Plan = "pro"
		b.spend(r, 10*time.Millisecond, 2*time.Second)
		if d := b.check(0, r); d.Node != "" || d.Limits[0].Limit != 2000 || d.Limits[0].Plan != "pro" {
			t.Errorf("decided %+v", d)
		}
		r.Plan = "gold"
		if _, err := b.edges[0].Check(t.Context(), r); !limit.IsNoPlan(err) {
			t.Errorf("of a plan that is not there: %v", err)
		}
		if _, err := b.edges[0].Check(t.Context(), of("", 1, "plans")); err == nil {
			t.Error("a request without a key is decided")
		}
	})
}

// A batch is decided here as far as it can be, in its order.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "api"), 5*time.Millisecond, 2*time.Second)
		asked := b.asked.Load()
		rs := []limit.Request{of("k", 1, "api"), of("k", 1, "strong"), of("new", 1, "api"), of("", 1, "api"), of("k", 2, "api")}
		results := b.edges[0].CheckBatch(t.Context(), rs)
		for i, r := range results {
			if (r.Err != nil) != (i == 3) || i != 3 && (!r.Decision.Allowed || r.Decision.Limits[0].Name != rs[i].Limits[0].Name) {
				t.Errorf("result %d is %+v", i, r)
			}
		}
		if b.asked.Load() != asked {
			t.Error("a batch was asked one by one")
		}
		all, err := b.edges[0].CheckAll(t.Context(), []limit.Request{of("k", 1, "api"), of("org", 51, "strong")})
		if err != nil || all.Allowed || all.Denied == nil || all.Denied.Key != "org" {
			t.Errorf("together: %+v, %v", all, err)
		}
	})
}

// What an edge holds goes back when it is closed.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "api"), 5*time.Millisecond, 2*time.Second)
		_, held := b.edges[0].Held()
		look := limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named("api")}}
		before := b.check(0, look).Limits[0]
		b.edges[0].Close()
		after := b.check(0, look).Limits[0]
		if held < 20 || after.Leased > before.Leased-held+1 || after.Remaining < before.Remaining+held/2 {
			t.Errorf("of %d tokens that were held, %d came back: %+v, %+v", held, after.Remaining-before.Remaining, before, after)
		}
	})
}
