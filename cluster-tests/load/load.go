// Package load asks a cluster for checks at a steady rate, whether or not the earlier ones have been answered, as the
// callers of an API do, and keeps what came of each. As many as begin in a second may be under way at once: a machine that is too
// slow for the rate is asked less. Start with [Start].
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// Config says what is asked.
type Config struct {
	// Checker is asked. Required.
	Checker limit.Checker
	// Rule is the limit that is checked. Required.
	Rule *limit.Rule
	// Keys is how many keys take turns.
	Keys int
	// PerSecond is how many checks begin in a second.
	PerSecond int
	// Deadline is how long each may take before it counts as failed.
	Deadline time.Duration
	// Slow is what callers would not have waited for: such checks are counted.
	Slow time.Duration
}

// A Load runs until it is stopped.
type Load struct {
	cfg  Config
	t    *testing.T
	stop context.CancelFunc
	done chan struct{}

	start, end time.Time
	checks     sync.WaitGroup
	underWay   chan struct{} // has one for each
	mu         sync.Mutex
	calls      []history.Call // failed ones too
	failures   []Failure
	latencies  []time.Duration
	slow       int
}

// A Failure is a check that was not decided.
type Failure struct {
	After time.Duration // since the load began
	Took  time.Duration
	Err   error
}

// Start begins to ask. The Load ends with the test, if not before.
func Start(t *testing.T, cfg Config) *Load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{cfg: cfg, t: t, stop: cancel, done: make(chan struct{}), start: time.Now(), underWay: make(chan struct{}, cfg.PerSecond)}
	go l.run(ctx)
	t.Cleanup(l.Stop)
	return l
}

func (l *Load) run(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n, left := 0, 0; ; { // left is how many were due, and left out
		select {
		case <-ctx.Done():
			l.end = time.Now()
			return
		case <-tick.C:
		}
		for due := int(time.Since(l.start).Seconds() * float64(l.cfg.PerSecond)); n+left < due; {
			select {
			case l.underWay <- struct{}{}:
			default:
				left++
				continue
			}
			nth := n // which goes on before the goroutine begins
			l.checks.Go(func() {
				defer func() { <-l.underWay }()
				l.check(nth)
			})
			n++
		}
	}
}

// check makes the n-th check.
func (l *Load) check(n int) {
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.Deadline)
	defer cancel()
	call := history.Call{
		Kind: history.KindCheck, Limit: l.cfg.Rule.Name, Key: fmt.Sprintf("key:%d", n%l.cfg.Keys), Cost: 1, Start: time.Now().UnixNano(),
	}
	began := time.Now()
	d, err := l.cfg.Checker.Check(ctx, limit.Request{
		Key: call.Key, Limits: []limit.Ref{limit.Named(l.cfg.Rule.Name)}, Cost: call.Cost, Look: call.Cost == 0, Receipt: true,
	})
	took := time.Since(began)
	call.End = call.Start + int64(took)
	Decided(&call, d, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if took > l.cfg.Slow {
		l.slow++
	}
	l.calls = append(l.calls, call)
	if err != nil {
		l.failures = append(l.failures, Failure{After: began.Sub(l.start), Took: took, Err: err})
		return
	}
	l.latencies = append(l.latencies, took)
}

// Stop ends the load and waits for what is under way.
func (l *Load) Stop() {
	l.stop()
	<-l.done
	l.checks.Wait()
}

// patience is how long Answered waits. It only ends tests that hang.
const patience = 3 * time.Minute

// Answered returns when n more checks have been answered, or have failed.
func (l *Load) Answered(n int) {
	l.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for target := l.count() + n; l.count() < target; {
		select {
		case <-tick.C:
		case <-deadline:
			l.t.Fatalf("%d of %d checks were not answered in minutes", target-l.count(), n)
		}
	}
}

func (l *Load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

// Calls are the checks that were decided. The Load must have been stopped.
func (l *Load) Calls() []history.Call {
	return slices.DeleteFunc(slices.Clone(l.calls), func(c history.Call) bool { return c.Outcome == history.Failed })
}

// History is everything that was seen. The Load must have been stopped.
func (l *Load) History() *history.History {
	return &history.History{Limits: []history.Limit{Limit(l.cfg.Rule)}, Calls: l.calls}
}

// Failures are the checks that were not. The Load must have been stopped.
func (l *Load) Failures() []Failure { return l.failures }

// Held says whether every limit held, in every window. epsilon is how far the clocks may be apart, in nanoseconds.
func (l *Load) Held(epsilon int64) error {
	return history.Safe(l.History(), epsilon)
}

// Share is how many tokens were admitted, and how many were due: what one full bucket would have admitted of the checks, had it decided each
// as it began.
func (l *Load) Share() (admittedTokens, dueTokens float64) {
	calls := slices.SortedFunc(slices.Values(l.Calls()), func(a, b history.Call) int { return cmp.Compare(a.Start, b.Start) })
	spent := map[string]int64{} // up to when the bucket of a key is spent
	token, capacity := int64(l.cfg.Rule.Refill.Per)/l.cfg.Rule.Refill.Tokens, l.cfg.Rule.Capacity
	var admitted, due int64
	for i := range calls {
		c := &calls[i]
		if c.Outcome == history.Admitted {
			admitted += c.Cost
		}
		if end := max(spent[c.Key], c.Start) + c.Cost*token; end <= c.Start+capacity*token {
			spent[c.Key] = end
			due += c.Cost
		}
	}
	return float64(admitted), float64(due)
}

// Summary is a line for people to read.
func (l *Load) Summary() string {
	sorted := slices.Clone(l.latencies)
	slices.Sort(sorted)
	at := func(q float64) time.Duration {
		if len(sorted) == 0 {
			return 0
		}
		return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(10 * time.Microsecond)
	}
	admitted := 0
	for _, c := range l.calls {
		if c.Outcome == history.Admitted {
			admitted++
		}
	}
	return fmt.Sprintf("%d checks in %v: %d admitted, %d denied, %d failed, %d took longer than %v; p50 %v, p99 %v, longest %v",
		len(l.calls), l.end.Sub(l.start).Round(100*time.Millisecond), admitted, len(l.calls)-len(l.failures)-admitted,
		len(l.failures), l.slow, l.cfg.Slow, at(0.5), at(0.99), at(1))
}

// Why are the kinds of failures, each with the time of its first and last one.
func (l *Load) Why() string {
	type kind struct {
		n           int
		first, last time.Duration
	}
	kinds := map[string]*kind{}
	var order []string
	for _, f := range l.failures {
		text := f.Err.Error()
		if errors.Is(f.Err, context.DeadlineExceeded) {
			text = "deadline exceeded: " + text
		}
		k := kinds[text]
		if k == nil {
			k = &kind{first: f.After}
			kinds[text] = k
			order = append(order, text)
		}
		k.n++
		k.first, k.last = min(k.first, f.After), max(k.last, f.After)
	}
	var b strings.Builder
	for i, text := range order {
		if i == 10 {
			fmt.Fprintf(&b, "and %d other kinds\n", len(order)-i)
			break
		}
		k := kinds[text]
		fmt.Fprintf(&b, "%d from %v to %v: %s\n", k.n, k.first.Round(time.Millisecond), k.last.Round(time.Millisecond), text)
	}
	return b.String()
}
