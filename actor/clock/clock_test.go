package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
)

func TestNowFollowsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		start := c.Now()
		if wall := time.Now().UnixNano(); start != wall {
			t.Fatalf("a new clock says %d, the wall clock %d", start, wall)
		}
		timer := time.NewTimer(3 * time.Second)
		<-timer.C
		if got := c.Now() - start; got != int64(3*time.Second) {
			t.Errorf("after 3 s the clock has moved %v", time.Duration(got))
		}
	})
}

func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		start := c.Now()
		for _, step := range []struct{ to, want int64 }{
			{start + 500, start + 500},
			{start + 200, start + 500}, // it never goes back
			{start, start + 500},
			{start + 501, start + 501},
		} {
			c.Advance(step.to)
			if got := c.Now(); got != step.want {
				t.Errorf("Advance(start+%d): clock says start+%d, want start+%d", step.to-start, got-start, step.want-start)
			}
			if got := c.Ahead(); got != step.want-start {
				t.Errorf("Advance(start+%d): %d ns ahead, want %d", step.to-start, got, step.want-start)
			}
		}
	})
}

func TestNowNeverDecreasesWhileOthersAdvance(t *testing.T) {
	c := clock.New()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := c.Now()
			for range 10_000 {
				c.Advance(last + 10)
				now := c.Now()
				if now < last+10 {
					t.Errorf("clock says %d after it was advanced to %d", now, last+10)
					return
				}
				last = now
			}
		})
	}
	wg.Wait()
}
