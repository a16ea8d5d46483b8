package actor

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

// TestHoldsOfOneKeyAreBatched takes 500 holds of one key at the same time, settles them, and does both at once, while the replica takes
// a millisecond: what comes while a write is under way is one further write, of a window's ledger as of a slow bucket's.
func TestHoldsOfOneKeyAreBatched(t *testing.T) {
	const streams = 500
	doc := document(t, `
limits:
  month:  {algorithm: fixed-window, limit: 1000000, per: month, hold: 1m}
  hour:   {algorithm: sliding-window, limit: 1000000, window: 1h, hold: 1m}
  bucket: {capacity: 1000000, refill: 1000/h, hold: 1m}
`)
	for _, name := range []string{"month", "hour", "bucket"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := clock.New().Now
				regs := newRegisters(now)
				s := start(t, Config{Replicas: []Replica{slow{regs, time.Millisecond}}, Now: now, Limits: fixed(doc)})
				holds := make([]limit.Hold, streams)
				all := func(what string, most int, do func(i int)) {
					t.Helper()
					before := regs.writes
					var wg sync.WaitGroup
					for i := range streams {
						wg.Go(func() { do(i) })
					}
					wg.Wait()
					if writes := regs.writes - before; writes > most {
						t.Errorf("%s: %d of them were %d writes, want at most %d", what, streams, writes, most)
					}
				}
				all("taken", 3, func(i int) { holds[i] = held(t, s, 1000, name) }) // with the claim
				all("settled in part", 2, func(i int) { settleHold(t, s, holds[i], 100, true) })
				all("settled, and taken anew", 4, func(i int) {
					settleHold(t, s, holds[i], 200, false)
					holds[i] = held(t, s, 1000, name)
				})
				all("settled", 2, func(i int) { settleHold(t, s, holds[i], 300, false) })
				if left := remaining(t, s, "a", name); left != 1_000_000-streams*(200+300) {
					t.Errorf("%d are left", left)
				}
			})
		})
	}
}
