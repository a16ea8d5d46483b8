package clustertests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A witness stands between a load and its client, and knows what became of every check as soon as it has ended.
type witness struct {
	t       *testing.T
	name    string
	checker limit.Checker

	mu   sync.Mutex
	seen []seen // in the order in which they ended
}

// A seen is what became of a check.
type seen struct {
	began time.Time
	took  time.Duration
	key   string
	err   error
}

// decided says whether there was an answer.
func (s seen) decided() bool { return s.err == nil }

// unavailable says whether the client got ErrUnavailable, and not merely no answer.
func (s seen) unavailable() bool { return errors.Is(s.err, limit.ErrUnavailable) }

// Check implements limit.Checker.
func (w *witness) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	s := seen{began: time.Now(), key: r.Key}
	d, err := w.checker.Check(ctx, r)
	s.took, s.err = time.Since(s.began), err
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, s)
	return d, err
}

// await returns when n checks in a row, which began after some time, have ended as wanted. It says when the first of them
// began.
func (w *witness) await(after time.Time, n int, wanted func(seen) bool, meaning string) (first time.Time) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(process.Patience)
	at, run := 0, 0
	var last error
	for {
		w.mu.Lock()
		for ; at < len(w.seen) && run < n; at++ {
			s := w.seen[at]
			switch {
			case s.began.Before(after):
			case !wanted(s):
				run, last = 0, s.err
			default:
				if run++; run == 1 || s.began.Before(first) {
					first = s.began
				}
			}
		}
		w.mu.Unlock()
		if run >= n {
			return first
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("%s: never were %d checks in a row %s, for minutes; the last one that was not: %v", w.name, n, meaning, last)
		}
	}
}

// between are the checks that began in some time. A zero time is for ever.
func (w *witness) between(from, to time.Time) (found []seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if !s.began.Before(from) && (to.IsZero() || s.began.Before(to)) {
			found = append(found, s)
		}
	}
	return found
}

// moved says how callers fared from a time on: until when their checks failed or took longer than they would wait, and how
// long the checks took.
func (w *witness) moved(from, to time.Time) string {
	var took []time.Duration
	var slow, failed, unavailable int
	var until, lost time.Duration
	for _, s := range w.between(from, to) {
		took = append(took, s.took)
		switch {
		case s.unavailable():
			unavailable++
		case s.err != nil:
			failed++
		case s.took > impatience:
			slow++
		}
		if s.took > 100*time.Millisecond {
			until = max(until, s.began.Sub(from))
		}
		if s.err != nil || s.took > impatience {
			lost = max(lost, s.began.Sub(from))
		}
	}
	if len(took) == 0 {
		return w.name + ": no checks"
	}
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(100 * time.Microsecond) }
	return fmt.Sprintf("%s: %d checks, %d unavailable, %d failed otherwise, %d slower than %v; the last one slower than 100 ms began "+
		"after %v, the last lost one after %v; p50 %v, p90 %v, p99 %v, p99.9 %v, longest %v", w.name, len(took), unavailable, failed, slow, impatience,
		until.Round(time.Millisecond), lost.Round(time.Millisecond), at(0.5), at(0.9), at(0.99), at(0.999), at(1))
}
