package fallback

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A level is a bucket as textbooks have it, with rational numbers: what is in it, and since when.
type level struct {
	capacity, rate *big.Rat // tokens, and tokens per nanosecond
	tokens         *big.Rat
	at             int64
}

// levelOf is the n-th part of a limit, full.
func levelOf(l limit.Limit, n int) *level {
	capacity := big.NewRat(max(l.Capacity/int64(n), 1), 1)
	rate := big.NewRat(l.Refill.Tokens, int64(n))
	return &level{capacity: capacity, rate: rate.Quo(rate, big.NewRat(int64(l.Refill.Per), 1)), tokens: capacity}
}

// now is what is in it at t.
func (l *level) now(t int64) *big.Rat {
	risen := new(big.Rat).Mul(l.rate, big.NewRat(t-l.at, 1))
	if risen.Add(risen, l.tokens); risen.Cmp(l.capacity) > 0 {
		return l.capacity
	}
	return risen
}

func (l *level) holds(t, cost int64) bool { return l.now(t).Cmp(big.NewRat(cost, 1)) >= 0 }

func (l *level) take(t, cost int64) {
	if cost > 0 {
		l.tokens, l.at = new(big.Rat).Sub(l.now(t), big.NewRat(cost, 1)), t
	}
}

// wait is the least whole number of nanoseconds until cost would be there, if it could hold as much.
func (l *level) wait(t int64, cost *big.Rat) time.Duration {
	missing := new(big.Rat).Sub(cost, l.now(t))
	if missing.Sign() <= 0 {
		return 0
	}
	missing.Quo(missing, l.rate)
	up := new(big.Int).Sub(new(big.Int).Add(missing.Num(), missing.Denom()), big.NewInt(1))
	return time.Duration(up.Quo(up, missing.Denom()).Int64())
}

// outcome is what it says to a check that was decided at t; before is what was in it.
func (l *level) outcome(whole limit.Limit, t, cost int64, before level) limit.Outcome {
	left := l.now(t)
	o := limit.Outcome{
		Name: whole.Name, Allowed: before.holds(t, cost), Limit: l.capacity.Num().Int64(), Never: cost > whole.Capacity,
		Remaining: new(big.Int).Quo(left.Num(), left.Denom()).Int64(), ResetAfter: l.wait(t, l.capacity),
	}
	if !o.Allowed && !o.Never {
		o.RetryAfter = before.wait(t, big.NewRat(cost, 1))
	}
	return o
}

// TestLikeTheModel decides random checks by random limits, and compares every decision with that of the model: what was
// admitted, what remains, and every wait, to the nanosecond.
func TestLikeTheModel(t *testing.T) {
	for range 20 {
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 1))
		text := "limits:\n"
		for i := range 4 {
			text += fmt.Sprintf("  l%d: {capacity: %d, refill: %d/%dns, on_unavailable: local}\n",
				i, 1+random.IntN(40), 1+random.IntN(9), 1000+random.IntN(1e9))
		}
		doc, n := document(t, text), 1+random.IntN(5)
		clock := &hand{now: noon}
		g := guard(t, Config{
			Checker: failing(limit.ErrUnavailable), Now: clock.read, Gateways: n, Limits: func() *limit.Document { return doc },
		})
		levels := map[bucketID]*level{}
		for step := range 400 {
			clock.move(time.Duration(random.Int64N(1 << random.IntN(32))))
			r := limit.Request{Key: fmt.Sprint("user:", random.IntN(3)), Cost: 1 + random.Int64N(1<<random.IntN(7))}
			if random.IntN(8) == 0 {
				r.Look, r.Cost = true, 0
			}
			for _, i := range random.Perm(4)[:1+random.IntN(4)] {
				r.Limits = append(r.Limits, limit.Named(fmt.Sprint("l", i)))
			}
			want := modelDecision(doc, n, levels, &r, clock.read())
			v := g.Check(t.Context(), r, "")
			if v.Source != ByLocal || v.Allowed != want.Allowed || fmt.Sprint(v.Limits) != fmt.Sprint(want.Limits) {
				t.Fatalf("seed %d, step %d: %+v\ngot  %+v\nwant %+v", seed, step, r, v, want)
			}
			consistent(t, g.local)
		}
	}
}

// modelDecision is what the model says, which charges all or none.
func modelDecision(doc *limit.Document, n int, levels map[bucketID]*level, r *limit.Request, now int64) limit.Decision {
	d := limit.Decision{Allowed: true}
	var before []level
	for _, ref := range r.Limits {
		rule, _ := doc.Rule(ref.Name)
		id := bucketID{ref.Name, r.Key}
		if levels[id] == nil {
			levels[id] = levelOf(rule.Limit, n)
			levels[id].at = now
		}
		before = append(before, *levels[id])
		d.Allowed = d.Allowed && levels[id].holds(now, r.Tokens())
	}
	for i, ref := range r.Limits {
		rule, _ := doc.Rule(ref.Name)
		l := levels[bucketID{ref.Name, r.Key}]
		if d.Allowed {
			l.take(now, r.Tokens())
		}
		d.Limits = append(d.Limits, l.outcome(rule.Limit, now, r.Tokens(), before[i]))
	}
	return d
}

// consistent says whether every bucket is found where it is.
func consistent(t *testing.T, b *buckets) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.index) != len(b.slots) || len(b.slots) > b.max {
		t.Fatalf("%d buckets, %d in the index, at most %d", len(b.slots), len(b.index), b.max)
	}
	for i, s := range b.slots {
		if at, ok := b.index[s.id]; !ok || at != i {
			t.Fatalf("bucket %d is found at %d, %v", i, at, ok)
		}
	}
}

// TestGatewaysTogether lets n gateways decide by themselves whatever they are asked: over every window, they together
// admit no more than the limit says.
func TestGatewaysTogether(t *testing.T) {
	for range 100 {
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 2))
		n := 1 + random.IntN(6)
		whole := rule(t, int64(n+random.IntN(20)), 1+random.Int64N(9), time.Duration(1+random.IntN(1e9)))
		doc := document(t, fmt.Sprintf("limits:\n  l: {capacity: %d, refill: %v, on_unavailable: local}\n", whole.Capacity, whole.Refill))
		clock := &hand{now: noon}
		var gateways []*Guard
		for range n {
			gateways = append(gateways, guard(t, Config{
				Checker: failing(limit.ErrUnavailable), Now: clock.read, Gateways: n, Limits: func() *limit.Document { return doc },
			}))
		}
		// With the line of the whole limit, a window holds too much when spent − refilled rises by more than the capacity,
		// both in tokens times the refill's time.
		var spent, least int64
		most := whole.Capacity * int64(whole.Refill.Per)
		for range 500 {
			clock.move(time.Duration(random.Int64N(int64(whole.Refill.Per))))
			r := ask("user:42", "l")
			r.Cost = 1 + random.Int64N(3)
			if !gateways[random.IntN(n)].Check(t.Context(), r, "").Allowed {
				continue
			}
			refilled := (clock.read() - noon) * whole.Refill.Tokens
			least = min(least, spent-refilled)
			if spent += r.Cost * int64(whole.Refill.Per); spent-refilled-least > most {
				t.Fatalf("seed %d: %d gateways with %+v admitted too much in a window that ends at %d", seed, n, whole.Limit, clock.read()-noon)
			}
		}
		if spent == 0 {
			t.Fatalf("seed %d: nothing was admitted", seed)
		}
	}
}

// TestAllOrNone has one of two limits used up: the other one is not charged.
func TestAllOrNone(t *testing.T) {
	clock := &hand{now: noon}
	g := guard(t, Config{Checker: failing(limit.ErrUnavailable), Now: clock.read})
	for i, want := range []bool{true, true, false, false} {
		if v := g.Check(t.Context(), ask("k", "here", "there"), ""); v.Allowed != want || v.Limits[0].Remaining != max(2, 3-int64(i)) {
			t.Errorf("check %d: %+v", i, v)
		}
	}
}

// TestAboveThePart asks for more than this gateway's part holds, but not more than the limit does.
func TestAboveThePart(t *testing.T) {
	clock := &hand{now: noon}
	g := guard(t, Config{Checker: failing(limit.ErrUnavailable), Now: clock.read, Gateways: 2})
	r := ask("k", "here") // 4 and 1/s: half of that
	r.Cost = 3
	want := limit.Outcome{Name: "here", Limit: 2, Remaining: 2, RetryAfter: 2 * time.Second}
	if v := g.Check(t.Context(), r, ""); v.Allowed || v.Limits[0] != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
	r.Cost = 5
	if v := g.Check(t.Context(), r, ""); v.Allowed || !v.Limits[0].Never || v.Limits[0].RetryAfter != 0 {
		t.Errorf("got %+v", v)
	}
	r.Cost = math.MaxInt64
	if v := g.Check(t.Context(), r, ""); v.Allowed || !v.Limits[0].Never {
		t.Errorf("got %+v", v)
	}
	if g.local.size() != 0 {
		t.Error("a denial has made a bucket")
	}
}

// TestClockThatGoesBack refills nothing twice.
func TestClockThatGoesBack(t *testing.T) {
	clock := &hand{now: noon}
	g := guard(t, Config{Checker: failing(limit.ErrUnavailable), Now: clock.read})
	admitted := 0
	for range 100 {
		for range 10 {
			if g.Check(t.Context(), ask("k", "here"), "").Allowed {
				admitted++
			}
		}
		clock.move(time.Second)
		if g.Check(t.Context(), ask("k", "here"), "").Allowed {
			admitted++
		}
		clock.move(-time.Second)
	}
	if admitted != 5 {
		t.Errorf("%d were admitted, want 4 and one more for a second", admitted)
	}
}

// TestLimitsChange keeps what was spent when the limits change, and what stands in the document when they do not.
func TestLimitsChange(t *testing.T) {
	var doc atomic.Pointer[limit.Document]
	doc.Store(document(t, "limits:\n  l: {capacity: 4, refill: 1/s, on_unavailable: local}\n"))
	clock := &hand{now: noon}
	g := guard(t, Config{Checker: failing(limit.ErrUnavailable), Now: clock.read, Limits: doc.Load})
	for range 4 {
		g.Check(t.Context(), ask("k", "l"), "")
	}
	doc.Store(document(t, "limits:\n  l: {capacity: 12, refill: 3/s, on_unavailable: local}\n"))
	v := g.Check(t.Context(), ask("k", "l"), "")
	if !v.Allowed && v.Limits[0].Limit != 12 || v.Limits[0].ResetAfter < 4*time.Second {
		t.Errorf("after the change: %+v", v)
	}
	doc.Store(document(t, "limits:\n  l: {capacity: 12, refill: 3/s}\n"))
	if v := g.Check(t.Context(), ask("k", "l"), ""); v.Source != ByAllow {
		t.Errorf("after the change of the policy: %+v", v)
	}
}

// TestTooManyBuckets fills the memory: further keys are denied and counted, those that have a bucket are decided, and
// when buckets are full again there is room.
func TestTooManyBuckets(t *testing.T) {
	clock, registry := &hand{now: noon}, prometheus.NewRegistry()
	g := guard(t, Config{Checker: failing(limit.ErrUnavailable), Now: clock.read, Registerer: registry})
	g.local.max = 20
	key := func(i int) string { return fmt.Sprint("user:", i) }
	for i := range 10 {
		if v := g.Check(t.Context(), ask(key(i), "here", "there"), ""); !v.Allowed || v.Source != ByLocal {
			t.Fatalf("key %d: %+v", i, v)
		}
	}
	for i := 10; i < 15; i++ {
		if v := g.Check(t.Context(), ask(key(i), "here"), ""); v.Allowed || v.Source != ByDeny || !errors.Is(v.Err, limit.ErrUnavailable) {
			t.Errorf("key %d: %+v", i, v)
		}
	}
	if v := g.Check(t.Context(), ask(key(3), "here"), ""); !v.Allowed || v.Source != ByLocal {
		t.Errorf("a key with a bucket: %+v", v)
	}
	look := ask(key(11), "here")
	look.Look, look.Cost = true, 0
	if v := g.Check(t.Context(), look, ""); !v.Allowed || v.Source != ByLocal || v.Limits[0].Remaining != 4 {
		t.Errorf("a look: %+v", v)
	}
	counted := series(t, registry)
	if counted["jeton_fallback_local_buckets"] != 20 || counted["jeton_fallback_local_refused_total"] != 5 {
		t.Errorf("counted %v", counted)
	}
	clock.move(2 * time.Second)
	for i := 10; i < 20; i++ {
		if v := g.Check(t.Context(), ask(key(i), "here", "there"), ""); !v.Allowed {
			t.Errorf("key %d when there is room again: %+v", i, v)
		}
		consistent(t, g.local)
	}
}

// TestForgetting keeps buckets until they are full, and then nothing: no bucket, no timer.
func TestForgetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 3*sweepStep + 17
		g := guard(t, Config{Checker: failing(limit.ErrUnavailable)})
		for range 2 {
			long := strings.Repeat("x", 10_000)
			for i := range keys {
				g.Check(t.Context(), ask(fmt.Sprint(long[:i%3], i), "here"), "")
			}
			for i := range 7 { // that take longer than until the first sweep
				for range 4 {
					pass(2 * time.Second)
					r := ask(fmt.Sprint("slow:", i), "here")
					r.Cost = 4
					g.Check(t.Context(), r, "")
				}
			}
			consistent(t, g.local)
			if n := g.local.size(); n == 0 || n > 10 {
				t.Errorf("%d buckets while a few are in use", n)
			}
			pass(4*time.Second + 2*sweepEvery)
			if n := g.local.size(); n != 0 || g.local.timer != nil {
				t.Errorf("%d buckets are left, timer %v", n, g.local.timer)
			}
		}
		g.Check(t.Context(), ask("k", "here"), "")
		g.Close()
		if v := g.Check(t.Context(), ask("l", "here"), ""); !v.Allowed {
			t.Errorf("after Close: %+v", v)
		}
		g.Close()
	})
}

// TestConcurrently admits exactly the capacity to many callers at once.
func TestConcurrently(t *testing.T) {
	doc := document(t, "limits:\n  l: {capacity: 1000, refill: 1/1h, on_unavailable: local}\n  m: {capacity: 5000, refill: 1/1h}\n")
	clock := &hand{now: noon}
	g := guard(t, Config{Checker: failing(limit.ErrUnavailable), Now: clock.read, Limits: func() *limit.Document { return doc }})
	var wait sync.WaitGroup
	var admitted atomic.Int64
	for i := range 8 {
		wait.Go(func() {
			for range 400 {
				if g.Check(t.Context(), ask("hot", "l", "m"), "").Allowed {
					admitted.Add(1)
				}
				g.Check(t.Context(), ask(fmt.Sprint("cold:", i), "m"), limit.Local)
			}
		})
	}
	wait.Wait()
	if admitted.Load() != 1000 {
		t.Errorf("%d were admitted, want 1000", admitted.Load())
	}
	consistent(t, g.local)
}
