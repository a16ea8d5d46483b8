// Package conformance says what every Limiter must do, whatever stands behind it: the actor system, a client of a node,
// a node embedded in a program. [Run] is the suite, and [Model] the simplest Limiter that passes it, to test the layers
// above one with.
package conformance

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A part is one of the suite.
type part struct {
	name string
	test func(*harness)
}

// attempts are how often a part is tried: a trial in which something was asked again may be void.
const attempts = 50

// run tries the part until a trial is not void.
func (p part) run(t *testing.T, open Open, algorithm string) {
	t.Helper()
	for range attempts {
		var h *harness
		t.Run(p.name, func(t *testing.T) {
			h = newHarness(t, open, algorithm)
			p.test(h)
		})
		if h == nil || !h.void.Load() {
			return
		}
	}
	t.Errorf("%s: it was wrong in %d trials, and in each of them something was asked again", p.name, attempts)
}

// Run holds the Limiters that open makes against the contract of [limit.Limiter], with limits of every algorithm. They must be
// without failures: then every decision is exact, but for what one [Over] a network asks again.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, part := range []part{
		{"a bucket admits exactly its capacity and refill", exactAdmission},
		{"a denial says when to come back", denialOutcome},
		{"receipts are disjoint and as long as their cost", receipts},
		{"what is returned can be spent again, once", returns},
		{"a late return gives back only what time has not", lateReturn},
		{"looking changes nothing", inspection},
	} {
		part.run(t, open, limit.TokenBucket)
	}
	for _, algorithm := range limit.Spending() {
		t.Run(algorithm, func(t *testing.T) {
			for _, part := range ofEveryAlgorithm {
				part.run(t, open, algorithm)
			}
		})
	}
}

// ofEveryAlgorithm are the parts that rest on no numbers of one algorithm.
var ofEveryAlgorithm = []part{
	{"decisions are those of the model", sameAsModel},
	{"a denied caller passes when it is told, and not before", denialWait},
	{"checks that wait begin in turn", waitInTurn},
	{"waits that a limit does not allow are refused by field", waitRefused},
	{"a cost above the capacity can never pass", neverPasses},
	{"all limits admit, or none is charged", allOrNone},
	{"outcomes stand in the order of the limits", outcomeOrder},
	{"a peek charges nothing", peek},
	{"a cost that was forgotten is 1", forgottenCost},
	{"a limit may be defined in the request", inlineLimit},
	{"callers at once get exactly the capacity", callersAtOnce},
	{"a repeated request is charged once", repeatedRequest},
	{"bad requests are refused by field", badRequests},
	{"bad lookups are refused", badLookups},
	{"a batch is answered in its order", batchOrder},
	{"an error in a batch is its item's alone", batchErrors},
	{"a batch has a bound", batchBound},
	{"a reset fills the bucket", reset},
	{"requests of several keys are admitted as the model does", togetherAsModel},
	{"callers of several keys leave nothing behind", togetherAtOnce},
	{"bad requests of several keys are refused by field", badTogether},
}
