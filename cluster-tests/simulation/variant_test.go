package simulation

import (
	"testing"
	"time"
)

// search runs seeds, from 1 on, until one breaks a promise. The seed is 0 if none of so many does.
func search(v *variant, most uint64) (seed uint64, simulated time.Duration) {
	for seed := uint64(1); seed <= most; seed++ {
		s := draw(seed, 0)
		if v.theme != plainly && v.theme != s.theme {
			continue
		}
		r := play(s, v, nil)
		simulated += r.Simulated
		if r.Violation != nil && !r.Violation.after {
			return seed, simulated
		}
	}
	return 0, simulated
}

// A world that does not find what is wrong on purpose finds nothing: it is too tame.
func TestSimulationFindsWhatIsWrong(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			seed, simulated := search(v, 4000)
			if seed == 0 {
				t.Fatalf("nothing was found to be wrong in %v", simulated)
			}
			r := Run(Config{Seed: seed, variant: v})
			t.Logf("found in seed %d, after %v simulated in %v: %s", seed, simulated.Round(time.Minute),
				time.Since(start).Round(time.Millisecond), r.Violation.What)
		})
	}
}
