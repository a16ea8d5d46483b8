package edge_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const tiers = `
limits:
  loose:  {capacity: 100, refill: 100/s, consistency: eventual, sync: 500ms}
  slow:   {capacity: 100, refill: 1/s, consistency: eventual}
  own:    {capacity: 10, refill: 1/s, consistency: local}
  part:   {capacity: 12, refill: 12/1m, consistency: local, share: divided}
  strong: {capacity: 5, refill: 1/h}
`

func tieredBed(t *testing.T, edges int) *bed {
	t.Helper()
	b := newBed(t, edges)
	b.doc.Store(document(t, tiers))
	return b
}

// burst has every edge ask as fast as it can for so long, and says how many checks were admitted.
func (b *bed) burst(name string, lasts, every time.Duration) (admitted int64) {
	b.tb.Helper()
	var n atomic.Int64
	var wait sync.WaitGroup
	end := time.Now().Add(lasts)
	for i := range b.edges {
		wait.Go(func() {
			for time.Now().Before(end) {
				if b.check(i, of("k", 1, name)).Allowed {
					n.Add(1)
				}
				pass(every + time.Duration(rand.Int64N(int64(every))))
			}
		})
	}
	wait.Wait()
	return n.Load()
}

// Under a burst at eight edges, an eventual limit admits no more beyond itself than each edge had heard of, and in the long run it is the limit.
func TestEventualUnderABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 8)
		defer b.close()
		const edges, capacity = 8, 100
		admitted := b.burst("loose", 2*time.Second, time.Millisecond)
		exact := int64(capacity + 200)
		if admitted > exact+edges*capacity || admitted < exact*9/10 {
			t.Errorf("%d were admitted in two seconds; the limit is %d, and %d more may be", admitted, exact, edges*capacity)
		}
		t.Logf("in two seconds %d were admitted, of a limit of %d", admitted, exact)
		all := admitted + b.burst("loose", 30*time.Second, 5*time.Millisecond)
		for range 30 {
			second := b.burst("loose", time.Second, 5*time.Millisecond)
			if all += second; second > 250 {
				t.Errorf("%d were admitted in a second, long after the burst began: each edge takes what is there for all", second)
			}
		}
		exact = capacity + 62*100
		if all < exact*95/100 || all > exact+edges*capacity {
			t.Errorf("in 62 seconds %d were admitted, of a limit of %d", all, exact)
		}
		if asked := b.asked.Load(); asked > 8*62*4 {
			t.Errorf("%d messages were sent to the node", asked)
		}
	})
}

// A burst of which the owner hears too late is debt, of one capacity at most: it denies for as long as a bucket takes to fill, and no longer.
func TestEventualDebtIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 8)
		defer b.close()
		b.burst("slow", 3*time.Second, time.Millisecond)
		pass(2 * time.Second)
		in, err := b.edges[0].Inspect(t.Context(), "k", limit.Named("slow"), "")
		if err != nil || in.Tokens != 0 {
			t.Fatalf("%+v, %v", in, err)
		}
		pass(110 * time.Second)
		if d := b.check(0, of("k", 1, "slow")); !d.Allowed {
			t.Errorf("it denies longer than a bucket takes to fill: %+v", d)
		}
	})
}

// An edge that cannot report goes on for as long as a report may take, and then asks the cluster, which says that there is none.
func TestEventualCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "slow"), 100*time.Millisecond, 3*time.Second)
		b.cut.Store(true)
		begin, last := time.Now(), time.Duration(0)
		for range 100 {
			if d, err := b.edges[0].Check(t.Context(), of("k", 1, "slow")); err == nil && d.Allowed {
				last = time.Since(begin)
			}
			pass(100 * time.Millisecond)
		}
		if last > 3*time.Second || last < time.Second {
			t.Errorf("it went on for %v", last)
		}
		b.cut.Store(false)
		if !b.check(0, of("k", 1, "slow")).Allowed {
			t.Error("it does not go on when it can report again")
		}
	})
}

// An eventual check that is given back before it was reported costs nothing.
func TestEventualReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.check(0, of("k", 1, "slow"))
		r := of("k", 10, "slow")
		r.Receipt = true
		d := b.check(0, r)
		if d.Node != "" || len(d.Receipts) != 1 {
			t.Fatalf("decided %+v", d)
		}
		for i, want := range []bool{true, false} {
			if back, err := b.edges[0].Return(t.Context(), "k", d.Receipts); err != nil || back[0] != want {
				t.Errorf("return %d: %v, %v", i, back, err)
			}
		}
		if left := b.check(0, of("k", 1, "slow")).Limits[0].Remaining; left < 97 {
			t.Errorf("%d are left", left)
		}
	})
}

// A local limit asks nobody. Each edge has all of it, or its part.
func TestLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 3)
		defer b.close()
		asked := b.asked.Load()
		for name, want := range map[string]int64{"own": 30, "part": 12} {
			admitted := int64(0)
			for i := range b.edges {
				for range 20 {
					d := b.check(i, of("k", 1, name))
					if d.Allowed {
						admitted++
					} else if o := d.Limits[0]; o.RetryAfter <= 0 || o.Remaining != 0 {
						t.Errorf("%s: denied with %+v", name, o)
					}
				}
			}
			if admitted != want {
				t.Errorf("%s: three edges admitted %d, want %d", name, admitted, want)
			}
		}
		pass(time.Second)
		r := of("k", 1, "own")
		r.Receipt = true
		d := b.check(0, r)
		if !d.Allowed || b.check(0, r).Allowed {
			t.Fatalf("a second later one is back: %+v", d)
		}
		if back, err := b.edges[0].Return(t.Context(), "k", d.Receipts); err != nil || !back[0] {
			t.Fatal(back, err)
		}
		if back, _ := b.edges[0].Return(t.Context(), "k", d.Receipts); back[0] {
			t.Error("it came back twice")
		}
		if look := b.check(0, limit.Request{Key: "k", Look: true, Limits: r.Limits}); look.Limits[0].Remaining != 1 {
			t.Errorf("a look sees %+v", look.Limits[0])
		}
		if !b.check(0, r).Allowed || b.check(0, r).Allowed {
			t.Error("what came back is not there once")
		}
		if now := b.asked.Load(); now != asked {
			t.Errorf("%d checks reached the node", now-asked)
		}
	})
}

// A check of limits of several consistencies takes of all or of none, and asks no node where this edge denies.
func TestTiersMixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		all := of("k", 1, "strong", "own", "loose")
		for i := range 5 {
			if d := b.check(0, all); !d.Allowed || len(d.Limits) != 3 || d.Limits[0].Name != "strong" || d.Limits[1].Name != "own" || d.Limits[2].Name != "loose" {
				t.Fatalf("check %d: %+v", i, d)
			}
		}
		if d := b.check(0, all); d.Allowed || d.Limits[0].Allowed || !d.Limits[1].Allowed || !d.Limits[2].Allowed {
			t.Errorf("when the strong one is used up: %+v", d)
		}
		for range 5 {
			b.check(0, of("k", 1, "own"))
		}
		asked := b.asked.Load()
		if d := b.check(0, all); d.Allowed || d.Limits[1].Allowed || d.Limits[1].Remaining != 0 {
			t.Errorf("when the local one is used up: %+v", d)
		}
		if now := b.asked.Load(); now != asked {
			t.Error("a node was asked what this edge denies")
		}
	})
}

// What an edge has taken of a check that the cluster does not decide comes back where the check is one of several.
func TestAllOrNoneInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.cut.Store(true)
		_, err := b.edges[0].CheckAll(t.Context(), []limit.Request{of("user", 1, "own"), of("org", 1, "own", "strong")})
		if part, ok := errors.AsType[*limit.UndecidedError](err); !ok || len(part.Limits) != 1 || part.Limits[0].Name != "strong" {
			t.Fatalf("%v", err)
		}
		for _, key := range []string{"user", "org"} {
			if o := b.check(0, limit.Request{Key: key, Look: true, Limits: []limit.Ref{limit.Named("own")}}).Limits[0]; o.Remaining != 10 {
				t.Errorf("%s has %+v left", key, o)
			}
		}
	})
}
