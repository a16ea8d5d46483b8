package simulation

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Worlds have limits of every algorithm (see newRule and drawCounting), and a few of them keep every promise: what is too short to meet
// everything that mustHappen lists.
func TestShortlyOfEveryAlgorithm(t *testing.T) {
	first := drawn()
	for seed := first; seed < first+uint64(8*len(limit.Algorithms())); seed++ {
		if r := Run(Config{Seed: seed}); r.Violation != nil {
			explain(t, seed)
		}
	}
}
