package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What an edge admitted is reported also if, while the report is due, its checks are denied by another limit.
func TestDenialsOfOthersLoseNoReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, tiers+"  none: {capacity: 1, refill: 1/h, consistency: local}\n"))
		b.check(0, of("k", 1, "none"))
		for range 101 {
			b.check(0, of("k", 1, "slow"))
		}
		if got := b.spend(of("k", 1, "none", "slow"), 5*time.Millisecond, 5*time.Second); got > 0 {
			t.Errorf("%d are admitted, and none has nothing left", got)
		}
		in, err := b.edges[0].Inspect(t.Context(), "k", limit.Named("slow"), "")
		if err != nil || in.Tokens > 5 {
			t.Errorf("100 were admitted of 100, and the owner has %d left, %v", in.Tokens, err)
		}
	})
}

// An edge leases also after another limit has denied checks of the same key.
func TestDenialsOfOthersLeaveLeasesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, stored+"  own: {capacity: 3, refill: 1/h, consistency: local}\n"))
		b.spend(of("k", 1, "own", "api"), 5*time.Millisecond, 10*time.Second)
		asked := b.asked.Load()
		b.spend(of("k", 1, "api"), 20*time.Millisecond, 10*time.Second)
		if asked = b.asked.Load() - asked; asked > 5 {
			t.Errorf("%d of 500 checks were asked of the node", asked)
		}
	})
}

// Nobody reports to a limit that is gone, or is not eventual any more, and what was known of it is forgotten.
func TestReportsEndWithTheirLimit(t *testing.T) {
	for name, text := range map[string]string{"gone": "limits: {other: {capacity: 1, refill: 1/s}}", "strong": "limits: {slow: {capacity: 100, refill: 1/s}}"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := tieredBed(t, 1)
				defer b.close()
				b.spend(of("k", 1, "slow"), 10*time.Millisecond, 100*time.Millisecond)
				b.doc.Store(document(t, text))
				pass(10 * time.Second)
				asked := b.asked.Load()
				pass(time.Minute)
				if asked = b.asked.Load() - asked; asked > 0 {
					t.Errorf("%d reports were sent in a minute to a limit that takes none", asked)
				}
			})
		})
	}
}

// While reports fail at once, there is one for each sync and not one for each check.
func TestReportsThatFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.spend(of("k", 1, "loose"), 10*time.Millisecond, 2*time.Second)
		b.cut.Store(true)
		asked := b.asked.Load()
		b.spend(of("k", 1, "loose"), 5*time.Millisecond, time.Second)
		if asked = b.asked.Load() - asked; asked > 3 {
			t.Errorf("%d reports were sent in a second", asked)
		}
	})
}

// A key with an override is decided by its owner.
func TestEventualOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, `limits: {slow: {capacity: 10, refill: 1/h, consistency: eventual, overrides: [{key: vip, allow: true}, {key: big, capacity: 1000}]}}`))
		for key, want := range map[string]int{"vip": 400, "big": 400, "k": 10} {
			if got := b.spend(of(key, 1, "slow"), 10*time.Millisecond, 4*time.Second); got != want {
				t.Errorf("%s: %d of 400 are admitted, want %d", key, got, want)
			}
		}
	})
}

// What an edge does not spend of a bucket that is far from empty, another one may, in checks of any cost.
func TestEventualDearChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 2)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 1000, refill: 1000/s, consistency: eventual}}"))
		denied := 0
		for i := range 2000 {
			b.check(0, of("k", 1, "l"))
			if i%100 == 99 && !b.check(1, of("k", 50, "l")).Allowed {
				denied++
			}
			pass(5 * time.Millisecond)
		}
		if denied > 0 {
			t.Errorf("%d of 20 checks are denied, of a limit of which a fifth is used", denied)
		}
	})
}

// Edges that report by turns go by what each heard a whole sync ago, of others that have admitted for a whole sync since they reported. Even so no more is admitted than what arrives
// at the others within one.
func TestEventualByTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tieredBed(t, 8)
		defer b.close()
		const capacity, sync = 100, 5 * time.Second
		b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 1/s, consistency: eventual, sync: 5s}}"))
		all := func(first, last, n int) (admitted int) {
			for e := first; e < last; e++ {
				for range n {
					if b.check(e, of("k", 1, "l")).Allowed {
						admitted++
					}
				}
			}
			return admitted
		}
		admitted := all(0, 8, 1) + all(4, 8, 1) // the report of the last four is due first
		pass(500 * time.Millisecond)
		admitted += all(0, 4, capacity)
		pass(sync - 100*time.Millisecond)
		admitted += all(4, 8, capacity)
		over := admitted - capacity - 5
		t.Logf("%d more than the limit", over)
		if over > 4*capacity {
			t.Errorf("%d more than the limit were admitted, and what arrives in a sync at four edges is 400", over)
		}
	})
}
