package fallback

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

// All parts of a limit together admit no more than the limit, whatever its algorithm.
func TestPartsOfEveryAlgorithm(t *testing.T) {
	for _, algorithm := range limit.Algorithms() {
		t.Run(algorithm, func(t *testing.T) {
			whole, err := limittest.Of(algorithm, "l", 10, limit.Refill{Tokens: 5, Per: time.Second}).Rule()
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n <= 10; n++ {
				part := divide(whole, n).own
				if part == nil || part.Algorithm != algorithm || part.Name != "l" {
					t.Fatalf("the part of %d gateways is %+v", n, part)
				}
				w, p := whole.Envelope(), part.Envelope()
				if int64(n)*p.Burst > w.Burst || p.Refill.PerSecond()*float64(n) > w.Refill.PerSecond()*(1+1e-9) {
					t.Errorf("%d times %+v is more than %+v", n, p, w)
				}
			}
		})
	}
}
