package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/edge"
)

// What is only looked at, since another limit denies, asks for nothing that is not sent: afterwards no check waits for an answer that nobody sends, and leases
// are asked for as before.
func TestLookedAtAsksForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 0)
		defer b.close()
		b.doc.Store(document(t, "limits: {own: {capacity: 5, refill: 1/s, consistency: local}, api: {capacity: 1000, refill: 100/s, consistency: leased}}"))
		e, err := edge.New(edge.Config{Cluster: far{b.system, b}, Limits: b.doc.Load, Go: b.background, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		b.edges = append(b.edges, e)
		failed := 0
		for range 6000 {
			if _, err := e.Check(t.Context(), of("k", 1, "own", "api")); err != nil {
				failed++
			}
			pass(5 * time.Millisecond)
		}
		if failed > 0 {
			t.Errorf("%d checks waited for a lease that was never asked for, until their time was over", failed)
		}
		asked, leases := b.asked.Load(), b.leases.Load()
		b.spend(of("k", 1, "api"), 20*time.Millisecond, 20*time.Second)
		if asked, leases = b.asked.Load()-asked, b.leases.Load()-leases; asked > 10 || leases == 0 {
			t.Errorf("of 1,000 steady checks %d were asked of the node, with %d leases", asked, leases)
		}
	})
}

// Likewise a report is not made and thrown away.
func TestLookedAtReportsAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, "limits: {own: {capacity: 3, refill: 1/m, consistency: local}, ev: {capacity: 3, refill: 1/s, consistency: eventual}}"))
		b.spend(of("k", 1, "own", "ev"), 5*time.Millisecond, 10*time.Second)
		asked := b.asked.Load()
		got := b.spend(of("k", 1, "ev"), 50*time.Millisecond, 10*time.Minute)
		if asked = b.asked.Load() - asked; got < 540 || asked > int64(got)+60 {
			t.Errorf("%d are admitted of 600 that come back, and %d checks and reports were asked of the node", got, asked)
		}
	})
}
