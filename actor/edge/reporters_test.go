package edge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Once a flood at one edge is over and the bucket is full, another edge has its tenth of the limit.
func TestAFloodElsewhereIsOver(t *testing.T) {
	for sync, most := range map[string]int{"1s": 12, "5s": 50} { // what was asked for is smoothed over four times sync
		t.Run(sync, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 2)
				defer b.close()
				b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 100/s, consistency: eventual, sync: "+sync+"}}"))
				for i := range 1500 { // 20,000 tokens a second
					b.check(0, of("k", 100, "l"))
					b.check(0, of("k", 100, "l"))
					if i%10 == 0 {
						b.check(1, of("k", 1, "l"))
					}
					pass(10 * time.Millisecond)
				}
				pass(3 * time.Second) // the bucket is full after one
				denied, last := 0, time.Duration(0)
				begin := time.Now()
				for range 1200 {
					if !b.check(1, of("k", 1, "l")).Allowed {
						denied, last = denied+1, time.Since(begin)
					}
					pass(100 * time.Millisecond)
				}
				if denied > most {
					t.Errorf("%d of 1200 are denied, of a limit of which a tenth is used, the last one %v after", denied, last+3*time.Second)
				}
			})
		})
	}
}

// What a caller says once that it was asked for is not believed for minutes.
func TestALieAboutWhatWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 100, refill: 100/s, consistency: eventual}}"))
		b.spend(of("k", 1, "l"), 20*time.Millisecond, 5*time.Second)
		_, err := b.system.Check(t.Context(), limit.Request{
			Key: "k", Limits: []limit.Ref{limit.Named("l")}, Look: true, Charge: true, Report: &limit.Report{Edge: 99, Number: 1, Asked: limit.MaxCount},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, begin, last := 0, time.Now(), time.Duration(0)
		for range 15000 {
			if b.check(0, of("k", 1, "l")).Allowed {
				got++
			} else {
				last = time.Since(begin)
			}
			pass(20 * time.Millisecond)
		}
		if got < 14000 {
			t.Errorf("after one message that took nothing, %d of 15000 are admitted of a limit of which half is used; the last denial is after %v", got, last)
		}
	})
}

// Edges that somebody has invented, of which each has reported nothing once, leave others what they had.
func TestInventedEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 60, refill: 10/s, consistency: eventual}}"))
		page := func() (denied int) {
			for range 20 {
				if !b.check(0, of("k", 1, "l")).Allowed {
					denied++
				}
			}
			return denied
		}
		if n := page(); n > 0 {
			t.Errorf("%d of 20 are denied", n)
		}
		pass(5 * time.Second)
		for i := range uint64(255) {
			_, err := b.system.Check(t.Context(), limit.Request{
				Key: "k", Limits: []limit.Ref{limit.Named("l")}, Look: true, Charge: true, Report: &limit.Report{Edge: i + 1, Number: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		denied, last, begin := 0, time.Duration(0), time.Now()
		for range 240 {
			pass(7 * time.Second) // so the edge forgets
			if n := page(); n > 0 {
				denied, last = denied+n, time.Since(begin)
			}
		}
		if denied > 48 {
			t.Errorf("%d of 4800 are denied, of a limit of which two fifths are used, the last one after %v", denied, last)
		}
	})
}

// Edges that are gone are forgotten: a gateway that was started anew a few times has what it had.
func TestEdgesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 8)
		defer b.close()
		b.doc.Store(document(t, "limits: {l: {capacity: 60, refill: 10/s, consistency: eventual}}"))
		page := func(e int) (denied int) {
			for range 20 {
				if !b.check(e, of("k", 1, "l")).Allowed {
					denied++
				}
			}
			return denied
		}
		for e := range 7 { // each is asked once, and never again
			page(e)
			pass(7 * time.Second)
		}
		denied, last, begin := 0, time.Duration(0), time.Now()
		for range 240 {
			if n := page(7); n > 0 {
				denied, last = denied+n, time.Since(begin)
			}
			pass(7 * time.Second)
		}
		if denied > 48 {
			t.Errorf("%d of 4800 are denied, of a limit of which two fifths are used by one edge; the last one %v after all others were gone", denied, last)
		}
	})
}
