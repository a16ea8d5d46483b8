package conformance

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

// Open makes a Limiter without any history that knows the limits of doc, reads the time from now (nanoseconds since the
// Unix epoch), and is closed when t ends.
type Open func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter

// longestWait is that of the limit of the suite whose checks may wait.
const longestWait = 5 * time.Second

// stored are the limits of the suite, by an algorithm.
func stored(algorithm string) []limit.Limit {
	queue := limittest.Of(algorithm, "queue", 2, limit.Refill{Tokens: 1, Per: time.Second})
	queue.MaxWait = longestWait
	return []limit.Limit{
		queue,
		limittest.Of(algorithm, "demo", 10, limit.Refill{Tokens: 10, Per: time.Hour}),
		limittest.Of(algorithm, "fast", 100, limit.Refill{Tokens: 1000, Per: time.Second}),
		limittest.Of(algorithm, "odd", 7, limit.Refill{Tokens: 3, Per: 7 * time.Second}),
		limittest.Of(algorithm, "slow", 1000, limit.Refill{Tokens: 1, Per: time.Hour}),
	}
}

// A harness is a Limiter under test, the clock that it reads, and the test that asks it.
type harness struct {
	trial
	limit.Limiter
	doc *limit.Document
	now *atomic.Int64
}

func newHarness(t *testing.T, open Open, algorithm string) *harness {
	t.Helper()
	doc, err := limit.NewDocument(stored(algorithm)...)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{trial: trial{T: t}, doc: doc, now: new(atomic.Int64)}
	h.now.Store(time.Date(2026, time.March, 1, 12, 0, 0, 1, time.UTC).UnixNano())
	h.Limiter = open(t, doc, h.now.Load)
	h.judge(h.Limiter)
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
