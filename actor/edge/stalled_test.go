package edge_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Returns that hang hold up no reports.
func TestReportsDoNotWaitForReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := countedBed(t, "limits: {page: {algorithm: fixed-window, limit: 600, window: 1h, consistency: leased}, ev: {capacity: 100, refill: 1/h, consistency: eventual}}")
		defer b.close()
		c.returns = time.Hour
		onTheHour()
		for range 20 {
			for k := range 3000 {
				b.check(0, of(fmt.Sprint(k), 1, "page"))
			}
			pass(30 * time.Millisecond)
		}
		pass(200 * time.Millisecond)
		for range 11 {
			b.check(0, of("k", 1, "ev"))
		}
		begin := time.Now()
		for time.Since(begin) < time.Minute {
			pass(250 * time.Millisecond)
			in, err := b.system.Inspect(t.Context(), "k", limit.Named("ev"), "")
			if err != nil {
				t.Fatal(err)
			}
			if in.Tokens < 95 {
				break
			}
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("with a report every second, the first one came after %v", took)
		}
	})
}
