package actor

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// failNext fails the next n batches.
func (f *faulty) failNext(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = n
}

// lostLine is the length of the line that failed batches asked for, in nanoseconds, and in how many pieces.
func (f *faulty) lostLine() (length, pieces int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.lost {
		length += m.To - m.From
		pieces++
	}
	return length, pieces
}

// TestFailedReservation fails one reservation, which has happened or not: its check is not admitted, and then exactly
// what is left is.
func TestFailedReservation(t *testing.T) {
	for what, want := range map[string]int64{"failed": 10, "failed but happened": 6} {
		t.Run(what, func(t *testing.T) {
			f := &faulty{Replica: open(t, storage.Config{}), happened: want < 10, fail: 1}
			s := start(t, Config{Replicas: []Replica{f}})
			if _, err := s.Check(t.Context(), spend("a", 4, "demo")); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("got %v, want unavailable", err)
			}
			if got := drain(t, s, "a", "demo"); got != want {
				t.Errorf("%d of 10 were admitted afterwards, want %d", got, want)
			}
		})
	}
}

// TestFailedReservationOfTwo fails the reservations of a check of two limits.
func TestFailedReservationOfTwo(t *testing.T) {
	for what, happened := range map[string]bool{"failed": false, "failed but happened": true} {
		t.Run(what, func(t *testing.T) {
			f := &faulty{Replica: open(t, storage.Config{}), happened: happened, fail: 1}
			s := start(t, Config{Replicas: []Replica{f}})
			if _, err := s.Check(t.Context(), spend("a", 3, "demo", "slow")); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("got %v, want unavailable", err)
			}
			lost := map[bool]int64{true: 3}[happened]
			if demo, slow := drain(t, s, "a", "demo"), drain(t, s, "a", "slow"); demo != 10-lost || slow != 1000-lost {
				t.Errorf("%d of 10 and %d of 1000 were admitted afterwards, want %d less", demo, slow, lost)
			}
		})
	}
}

// TestFailedReset fails a reset, which has happened or not.
func TestFailedReset(t *testing.T) {
	for what, happened := range map[string]bool{"failed": false, "failed but happened": true} {
		t.Run(what, func(t *testing.T) {
			f := &faulty{Replica: open(t, storage.Config{}), happened: happened}
			s := start(t, Config{Replicas: []Replica{f}})
			spent := drain(t, s, "a", "demo")
			f.failNext(1)
			if err := s.Reset(t.Context(), "a", limit.Named("demo")); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("got %v, want unavailable", err)
			}
			spent += drain(t, s, "a", "demo")
			if spent > 20 {
				t.Errorf("%d were admitted by 10 and a reset", spent)
			}
			if err := s.Reset(t.Context(), "a", limit.Named("demo")); err != nil {
				t.Fatal(err)
			}
			if got := drain(t, s, "a", "demo"); got != 10 {
				t.Errorf("%d were admitted after the reset that worked, want 10", got)
			}
		})
	}
}

// TestFailuresUnderLoad fails every fourth reservation under load: never over, and all that is not lost is admitted in
// the end.
func TestFailuresUnderLoad(t *testing.T) {
	for what, happened := range map[string]bool{"failed": false, "failed but happened": true} {
		t.Run(what, func(t *testing.T) {
			var (
				mu     sync.Mutex
				n      int
				over   bool
				spent  receipts
				failed atomic.Int64
				wait   sync.WaitGroup
			)
			f := &faulty{Replica: open(t, storage.Config{}), happened: happened}
			some := replica{reserve: func(rs []register.Reservation, done func([]register.Answer, error)) {
				mu.Lock()
				if !over && n%4 == 0 {
					f.failNext(1)
				}
				n++
				mu.Unlock()
				f.Reserve(rs, done)
			}}
			s := start(t, Config{Replicas: []Replica{some}})
			for range 16 {
				wait.Go(func() {
					for range 100 {
						r := spend("a", 1, "slow")
						r.Receipt = true
						d, err := s.Check(t.Context(), r)
						switch {
						case errors.Is(err, limit.ErrUnavailable):
							failed.Add(1)
						case err != nil:
							t.Error(err)
						}
						spent.add(r.Key, 1, d)
					}
				})
			}
			wait.Wait()
			mu.Lock()
			over = true
			mu.Unlock()
			f.failNext(0)
			admitted := int64(spent.count()) + drain(t, s, "a", "slow")
			spent.verify(t)
			lost, pieces := f.lostLine()
			if failed.Load() == 0 || pieces == 0 {
				t.Errorf("%d reservations and %d checks failed: the test shows nothing", pieces, failed.Load())
			}
			least := int64(1000)
			if happened {
				least -= lost/int64(time.Hour) + 2*pieces
			}
			if admitted > 1000 || admitted < least {
				t.Errorf("%d were admitted, want at least %d and at most 1000", admitted, least)
			}
		})
	}
}

// TestLateAnswers gives answers after their checks are gone: what was reserved can still be spent, once.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Now: now, Replicas: []Replica{slow{newRegisters(now), 40 * time.Second}}})
		first := ask(t.Context(), s, spend("a", 4, "demo"))
		pass(MaxWait)
		if a := settled(t, first); a.err == nil {
			t.Fatalf("got %+v", a)
		}
		pass(time.Minute)
		admitted := int64(0)
		for range 10 {
			a := ask(t.Context(), s, spend("a", 1, "demo"))
			pass(MaxWait)
			if got := settled(t, a); got.err == nil && got.Allowed {
				admitted++
			}
		}
		if admitted < 4 || admitted > 10 {
			t.Errorf("%d were admitted by a replica that answers after 40 s, want the 4 that were reserved at least", admitted)
		}
	})
}

// TestSkewedClock has the replica's clock differ by more than is tolerated.
func TestSkewedClock(t *testing.T) {
	var ahead atomic.Int64
	now := clock.New().Now
	skewed := newRegisters(func() int64 { return now() + ahead.Load() })
	skewed.sent = now
	s := start(t, Config{Now: now, Replicas: []Replica{skewed}})
	decide(t, s, spend("a", 4, "demo"))
	ahead.Store(int64(time.Second))
	if _, err := s.Check(t.Context(), spend("a", 1, "demo")); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("with a clock that is a second off: %v, want unavailable", err)
	}
	ahead.Store(0)
	if got := drain(t, s, "a", "demo"); got != 6 {
		t.Errorf("%d were admitted once the clocks agreed again, want 6", got)
	}
}
