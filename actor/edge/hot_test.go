package edge_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// spendAt checks a key at every edge, at a steady pace.
func (b *bed) spendAt(r limit.Request, perSecond int, lasts time.Duration) (denied int) {
	b.tb.Helper()
	var wait sync.WaitGroup
	var mu sync.Mutex
	for e := range b.edges {
		wait.Go(func() {
			for range int(lasts.Seconds() * float64(perSecond)) {
				if !b.check(e, r).Allowed {
					mu.Lock()
					denied++
					mu.Unlock()
				}
				pass(time.Second / time.Duration(perSecond))
			}
		})
	}
	wait.Wait()
	return denied
}

// A limit that is leased when its key is hot is decided by the owner, then by edges once it is hot, and by the owner again when it is not.
func TestLeasedWhileHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 3)
		defer b.close()
		r := of("k", 1, "wide")
		if denied := b.spendAt(r, 5, 5*time.Second); denied != 0 || b.asked.Load() != 75 || b.leases.Load() != 0 {
			t.Errorf("of a key that is checked 15 times a second %d checks and %d leases were asked for, and %d denied; want 75, none and none", b.asked.Load(), b.leases.Load(), denied)
		}

		denied := b.spendAt(r, 20, 5*time.Second) // edges ask for leases, and the key is not hot
		if asked, leases := b.asked.Swap(0), b.leases.Swap(0); denied != 0 || asked != 75+300 || leases < 3 || leases > 30 {
			t.Errorf("of a key that is checked 60 times a second %d checks and %d leases were asked for, and %d denied; want 375, some and none", asked, leases, denied)
		}

		denied = b.spendAt(r, 100, 2*time.Second)
		if asked := b.asked.Swap(0); denied != 0 || asked < 20 || asked > 550 {
			t.Errorf("in the first two seconds of heat %d of 600 checks were asked for, and %d denied", asked, denied)
		}
		b.leases.Store(0)
		denied = b.spendAt(r, 100, 20*time.Second)
		if asked, leases := b.asked.Swap(0), b.leases.Load(); denied != 0 || asked > 60 || leases > 90 {
			t.Errorf("of 6,000 checks of a hot key %d were asked for, with %d leases, and %d denied", asked, leases, denied)
		}

		pass(12 * time.Second)
		b.leases.Store(0)
		if denied := b.spendAt(r, 20, 3*time.Second); denied != 0 || b.asked.Load() != 180 || b.leases.Load() < 3 {
			t.Errorf("of a key that is hot no more %d of 180 checks were asked for, %d leases, and %d denied", b.asked.Load(), b.leases.Load(), denied)
		}
	})
}

// Beside a key that is hot, one that is not is not leased: and a strong limit never is.
func TestNotLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		var wait sync.WaitGroup
		wait.Go(func() { b.spendAt(of("busy", 1, "wide"), 200, 6*time.Second) })
		wait.Go(func() { b.spendAt(of("slow", 1, "wide"), 30, 6*time.Second) })
		wait.Wait()
		if _, keys := b.system.Checked(); len(keys) > 0 && keys[0].Key == "busy" && keys[0].Hot {
			t.Errorf("the owner is still asked for what edges decide: %+v", keys)
		}
		in, err := b.system.Inspect(t.Context(), "slow", limit.Named("wide"), "")
		if err != nil || len(in.Leases) != 0 {
			t.Errorf("%+v of a key that is not hot, %v", in.Leases, err)
		}
		if asked := b.asked.Load(); asked < 180 || asked > 180+600 {
			t.Errorf("of 1,200 checks of a key that is hot, and 180 of another one, %d were asked for", asked)
		}
	})
}
