package actor

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/storage"
)

var durabilities = []storage.Durability{storage.Fsync, storage.Memory}

// TestConformance keeps every actor awake: the clock of the suite stands still between its steps, and an owner that
// learns from a refusal what it had forgotten pauses for a moment of that clock before it asks again.
func TestConformance(t *testing.T) {
	for _, d := range durabilities {
		t.Run(string(d), func(t *testing.T) {
			for _, run := range []func(*testing.T, conformance.Open){conformance.Run, conformance.Variants} {
				run(t, func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter {
					t.Helper()
					return start(t, Config{
						Replicas:  []Replica{open(t, storage.Config{Durability: d, Now: now})},
						Now:       now,
						Limits:    fixed(doc),
						IdleAfter: 10_000 * time.Hour,
					})
				})
			}
		})
	}
}

// TestOneKeyManyCallers has 64 callers spend a bucket of 1,000 tokens with 100,000 checks.
func TestOneKeyManyCallers(t *testing.T) {
	const callers, checks = 64, 100_000
	for _, size := range []int{1, 100} {
		for _, d := range durabilities {
			t.Run(map[int]string{1: "singles ", 100: "batches "}[size]+string(d), func(t *testing.T) {
				s := start(t, Config{Replicas: []Replica{open(t, storage.Config{Durability: d})}})
				var (
					wait           sync.WaitGroup
					left, admitted atomic.Int64
				)
				left.Store(checks)
				for range callers {
					wait.Go(func() {
						for left.Add(-int64(size)) >= 0 {
							admitted.Add(spendAll(t, s, spend("one", 1, "slow"), size))
						}
					})
				}
				wait.Wait()
				if got := admitted.Load(); got != 1000 {
					t.Errorf("%d admitted, want exactly 1000", got)
				}
			})
		}
	}
}

// spendAll makes the same check n times, as one batch if there are several, and says how often it was admitted.
func spendAll(tb testing.TB, s *System, r limit.Request, n int) (admitted int64) {
	tb.Helper()
	if n == 1 {
		d, err := s.Check(tb.Context(), r)
		if err != nil {
			tb.Error(err)
		}
		if d.Allowed {
			admitted++
		}
		return admitted
	}
	rs := make([]limit.Request, n)
	for i := range rs {
		rs[i] = r
	}
	for _, one := range s.CheckBatch(tb.Context(), rs) {
		if one.Err != nil {
			tb.Error(one.Err)
		}
		if one.Decision.Allowed {
			admitted++
		}
	}
	return admitted
}

// TestOverloadExact offers three times the refill for ten seconds of exact time: 100 + 1,000·t are admitted at every
// moment if replicas answer at once, and in the end if they take a while.
func TestOverloadExact(t *testing.T) {
	for what, after := range map[string]time.Duration{"at once": 0, "1.3 ms": 1300 * time.Microsecond} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := clock.New().Now
				s := start(t, Config{Now: now, Replicas: []Replica{slow{newRegisters(now), after}}})
				var (
					admitted atomic.Int64
					waiting  sync.WaitGroup
				)
				const drained = 60 // ms: by then what was in the bucket at first is spent
				for ms := range int64(10_001) {
					for range 3 {
						waiting.Go(func() { admitted.Add(spendAll(t, s, spend("one", 1, "fast"), 1)) })
					}
					synctest.Wait()
					got, want := admitted.Load(), 100+ms
					if got > want || got < want && after == 0 && ms > drained {
						t.Fatalf("after %d ms %d were admitted, want %d", ms, got, want)
					}
					if ms < 10_000 {
						<-time.After(time.Millisecond)
					}
				}
				waiting.Wait()
				if got := admitted.Load(); got != 100+10_000 {
					t.Errorf("%d were admitted in 10 s, want 10100", got)
				}
			})
		})
	}
}

// TestOverloadFromOutside counts in real time, on a real disk, what a caller can count: never more than 100 + 1,000·t. It goes on for a second, or on
// a slow machine until some has come back.
func TestOverloadFromOutside(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{open(t, storage.Config{FS: vfs.Default, Dir: t.TempDir()})}})
	var (
		wait     sync.WaitGroup
		admitted atomic.Int64
	)
	began := time.Now()
	for range 16 {
		wait.Go(func() {
			for !t.Failed() && (time.Since(began) < time.Second || time.Since(began) < time.Minute && admitted.Load() <= 100) { // which the bucket had at first
				if spendAll(t, s, spend("one", 1, "fast"), 1) == 0 {
					continue
				}
				n := admitted.Add(1)
				if took := time.Since(began); n > 100+took.Milliseconds()+1 {
					t.Errorf("%d were admitted in %v", n, took)
				}
			}
		})
	}
	wait.Wait()
	if n := admitted.Load(); n <= 100 {
		t.Errorf("%d were admitted in %v", n, time.Since(began))
	}
}

// TestTwoOwners has two Systems decide for one key on the same registers: each token is admitted by one of them at most.
func TestTwoOwners(t *testing.T) {
	store := open(t, storage.Config{})
	var (
		wait  sync.WaitGroup
		spent receipts
	)
	for range 2 {
		s := start(t, Config{Replicas: []Replica{store}})
		for range 8 {
			wait.Go(func() {
				for range 500 {
					r := spend("one", 1, "fast")
					r.Receipt = true
					d, err := s.Check(t.Context(), r)
					if err != nil {
						t.Error(err)
						return
					}
					spent.add("one", 1, d)
				}
			})
		}
	}
	wait.Wait()
	spent.verify(t)
}
