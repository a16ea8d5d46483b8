// Package conformance says what every Limiter must do, whatever stands behind it: the actor system, a client of a node,
// a node embedded in a program. [Run] is the suite, and [Model] the simplest Limiter that passes it, to test the layers
// above one with.
package conformance

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Open makes a Limiter without any history that knows the limits of doc, reads the time from now (nanoseconds since the
// Unix epoch), and is closed when t ends.
type Open func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter

// A part is one of the suite.
type part struct {
	name string
	test func(*harness)
}

// Run holds the Limiters that open makes against the contract of [limit.Limiter], with limits of every algorithm. They must be
// without failures: then every decision is exact.
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
		t.Run(part.name, func(t *testing.T) { part.test(newHarness(t, open, limit.TokenBucket)) })
	}
	for _, algorithm := range limit.Algorithms() {
		t.Run(algorithm, func(t *testing.T) {
			for _, part := range ofEveryAlgorithm {
				t.Run(part.name, func(t *testing.T) { part.test(newHarness(t, open, algorithm)) })
			}
		})
	}
}

// ofEveryAlgorithm are the parts that rest on no numbers of one algorithm.
var ofEveryAlgorithm = []part{
	{"decisions are those of the model", sameAsModel},
	{"a denied caller passes when it is told, and not before", denialWait},
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
}

// text is the limits document of the suite.
const text = `
limits:
  demo: {capacity: 10, refill: 10/1h}
  fast: {capacity: 100, refill: 1000/s}
  odd:  {capacity: 7, refill: 3/7s}
  slow: {capacity: 1000, refill: 1/h}
`

// A harness is a Limiter under test, the clock that it reads, and the test that asks it.
type harness struct {
	*testing.T
	limit.Limiter
	doc *limit.Document
	now *atomic.Int64
}

func newHarness(t *testing.T, open Open, algorithm string) *harness {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(strings.ReplaceAll(text, "{", "{algorithm: "+algorithm+", ")))
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{T: t, doc: doc, now: new(atomic.Int64)}
	h.now.Store(time.Date(2026, time.March, 1, 12, 0, 0, 1, time.UTC).UnixNano())
	h.Limiter = open(t, doc, h.now.Load)
	return h
}

// advance lets time pass.
func (h *harness) advance(d time.Duration) { h.now.Add(int64(d)) }

// rule is a stored limit, ready to decide.
func (h *harness) rule(name string) *limit.Rule {
	h.Helper()
	rule, ok := h.doc.Rule(name)
	if !ok {
		h.Fatalf("the suite has no limit %q", name)
	}
	return rule
}

// check is a request that must be decided.
func (h *harness) check(r limit.Request) limit.Decision {
	h.Helper()
	d, err := h.Check(h.Context(), r)
	if err != nil {
		h.Fatalf("%+v: %v", r, err)
	}
	if len(d.Limits) != len(r.Limits) {
		h.Fatalf("%+v: %d outcomes for %d limits", r, len(d.Limits), len(r.Limits))
	}
	d.Node = "" // who answers is no part of what is decided, and may be another node each time
	return d
}

// remaining is how many tokens a bucket has, by a peek.
func (h *harness) remaining(key, name string) int64 {
	h.Helper()
	return h.check(request(key, 0, name)).Limits[0].Remaining
}

// drain checks for one token after another until it is denied, and says how many were admitted.
func (h *harness) drain(key, name string) int64 {
	h.Helper()
	for admitted := range h.rule(name).Capacity + 1 {
		if !h.check(request(key, 1, name)).Allowed {
			return admitted
		}
	}
	h.Fatalf("%s admitted more than its capacity at once", name)
	return 0
}

// request asks for cost tokens of stored limits.
func request(key string, cost int64, names ...string) limit.Request {
	r := limit.Request{Key: key, Cost: cost, Look: cost == 0}
	for _, name := range names {
		r.Limits = append(r.Limits, limit.Named(name))
	}
	return r
}
