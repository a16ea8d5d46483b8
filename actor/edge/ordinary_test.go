package edge_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
)

// What edges cost in ordinary operation, where nothing fails.

// onTheHour lets time pass to the beginning of a window of an hour.
func onTheHour() { pass(time.Hour - time.Duration(time.Now().UnixNano()%int64(time.Hour))) }

// left is how many tokens a limit of a key has at its owner.
func (b *bed) left(key, name string) int64 {
	b.tb.Helper()
	return b.check(0, limit.Request{Key: key, Look: true, Limits: []limit.Ref{limit.Named(name)}}).Limits[0].Remaining
}

// In a long window nothing comes back by itself: what an edge has not spent goes back before its lease is over, in as many parts as it likes, and whether or not
// anybody asks about the key meanwhile.
func TestLongWindowsLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, "limits: {page: {algorithm: fixed-window, limit: 6000, window: 1h, consistency: leased}}"))
		onTheHour()
		admitted := 0
		for range 59 * 4 {
			admitted += b.spend(of("k", 1, "page"), 25*time.Millisecond, time.Second)
			pass(14 * time.Second)
		}
		if admitted < 6000*97/100 || admitted > 6000 {
			t.Errorf("%d of 6000 are admitted", admitted)
		}
	})
}

// A flood of checks that another limit denies takes nothing of a leased one.
func TestDeniedFloodTakesNothing(t *testing.T) {
	for other, says := range map[string]string{"leased": "consistency: leased", "strong": "reserve: exact", "local": "consistency: local"} {
		t.Run(other, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 1)
				defer b.close()
				b.doc.Store(document(t, "limits: {api: {capacity: 1000, refill: 1/s, consistency: leased}, costly: {capacity: 10, refill: 1/h, "+says+"}}"))
				if admitted := b.spend(of("k", 1, "api", "costly"), 5*time.Millisecond, 20*time.Second); admitted != 10 {
					t.Errorf("%d are admitted of 10", admitted)
				}
				_, held := b.edges[0].Held()
				if left := b.left("k", "api") + held; left < 950 {
					t.Errorf("10 were admitted of 1000 tokens, and %d are left", left)
				}
			})
		})
	}
}

// Nobody takes back what another caller was admitted: receipts cannot be guessed.
func TestReceiptsCannotBeGuessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "api"), 5*time.Millisecond, time.Second)
		r := of("k", 1, "api")
		r.Receipt = true
		mine := b.check(0, r).Receipts[0]
		for range 20 {
			b.check(0, of("k", 1, "api", "page"))
			b.check(0, r)
		}
		for i := range uint64(100) {
			forged := mine
			forged.Serial += 1 + i
			if back, err := b.edges[0].Return(t.Context(), "k", []limit.Receipt{forged}); err != nil || back[0] {
				t.Fatalf("%v, %v", back, err)
			}
		}
	})
}

// Checks of any cost get about what they would get from the owner, and one that can never pass does not disturb the others.
func TestCosts(t *testing.T) {
	for _, c := range []struct{ capacity, cost, edges int64 }{{20, 5, 1}, {50, 10, 4}, {100, 20, 1}, {200, 10, 4}, {1000, 1, 4}} {
		var got [2]int64
		for i, consistency := range []string{"strong", "leased"} {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, int(c.edges))
				defer b.close()
				b.doc.Store(document(t, fmt.Sprintf("limits: {l: {capacity: %d, refill: 100/s, consistency: %s}}", c.capacity, consistency)))
				b.check(0, of("k", 1<<60, "l"))
				var admitted atomic.Int64
				var wait sync.WaitGroup
				end := time.Now().Add(30 * time.Second)
				for e := range b.edges {
					wait.Go(func() {
						for time.Now().Before(end) {
							if b.check(e, of("k", c.cost, "l")).Allowed {
								admitted.Add(c.cost)
							}
							pass(time.Duration(c.cost*c.edges) * time.Second / 150)
						}
					})
				}
				wait.Wait()
				got[i] = admitted.Load()
			})
		}
		if got[1] < got[0]*90/100 || got[1] > c.capacity+31*100 {
			t.Errorf("capacity %d, cost %d, %d edges: strong admits %d tokens, leased %d", c.capacity, c.cost, c.edges, got[0], got[1])
		}
	}
}

// A plan of one limit of a check leaves another one without plans alone.
func TestPlanBesideALimitWithoutPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		r := of("k", 1, "api", "plans")
		r.Plan = "pro"
		if got := b.spend(r, 10*time.Millisecond, 5*time.Second); got != 500 {
			t.Errorf("%d of 500 are admitted", got)
		}
		if asked := b.asked.Load(); asked > 10 {
			t.Errorf("the node was asked %d of 500 checks", asked)
		}
	})
}

// A batch of requests that mix consistencies is decided as one by one.
func TestBatchOfMixedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, stored+"  own: {capacity: 3, refill: 1/h, consistency: local}\n"))
		b.spend(of("k", 1, "api"), 5*time.Millisecond, time.Second)
		var rs []limit.Request
		for range 5 {
			rs = append(rs, of("k", 1, "api", "strong"), of("k", 1, "strong", "own"))
		}
		admitted := 0
		for i, result := range b.edges[0].CheckBatch(t.Context(), rs) {
			d := result.Decision
			if result.Err != nil || len(d.Limits) != 2 || d.Limits[0].Name != rs[i].Limits[0].Name || d.Limits[1].Name != rs[i].Limits[1].Name {
				t.Errorf("result %d: %+v", i, result)
			}
			if d.Allowed {
				admitted++
			}
		}
		if left := b.left("k", "strong"); admitted != 8 || left != 42 {
			t.Errorf("%d of 10 are admitted, want 8: own has three; strong has %d left", admitted, left)
		}
	})
}

// A check without a deadline takes no longer than the edge's time-out, also if it waits for a lease first.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 0)
		defer b.close()
		e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: b.doc.Load, Go: b.background, Timeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		b.edges = append(b.edges, e)
		b.delay = time.Hour
		for range 5 {
			begin := time.Now()
			if _, err := e.Check(t.Context(), of("k", 1, "api")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if took := time.Since(begin); took != 100*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		}
	})
}

// An edge of many keys that is closed gives all back in time.
func TestCloseGivesManyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.delay = 10 * time.Millisecond
		b.doc.Store(document(t, "limits: {page: {algorithm: fixed-window, limit: 600, window: 1h, consistency: leased}}"))
		onTheHour()
		const keys = 300
		var wait sync.WaitGroup
		for k := range keys {
			wait.Go(func() {
				for range 40 {
					b.check(0, of(fmt.Sprint(k), 1, "page"))
					pass(25 * time.Millisecond)
				}
			})
		}
		wait.Wait()
		_, held := b.edges[0].Held()
		b.edges[0].Close()
		left := int64(0)
		for k := range keys {
			left += b.left(fmt.Sprint(k), "page")
		}
		if lost := keys*(600-40) - left; held == 0 || lost > held/20 {
			t.Errorf("%d were held, and %d are lost", held, lost)
		}
	})
}

// Two edges of one name are two: both are shown with what they hold.
func TestEdgesOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 0)
		defer b.close()
		for range 2 {
			e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: b.doc.Load, Go: b.background, Name: "host"})
			if err != nil {
				t.Fatal(err)
			}
			b.edges = append(b.edges, e)
		}
		for range 400 {
			for e := range b.edges {
				b.check(e, of("k", 1, "api"))
			}
			pass(10 * time.Millisecond)
		}
		var held int64
		for _, e := range b.edges {
			_, tokens := e.Held()
			held += tokens
		}
		d := b.check(0, limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named("api")}})
		if leased := d.Limits[0].Leased; held < 50 || leased < held || leased > held+400 {
			t.Errorf("%d are held, and at most %d are said to be", held, leased)
		}
	})
}
