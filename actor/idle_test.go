package actor

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// agreeable is a replica that accepts everything and keeps nothing, for those who measure what actors cost.
func agreeable(rs []register.Reservation, done func([]register.Answer, error)) {
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		answers[i] = register.Answer{Verdict: register.Accepted, Position: m.To, Generation: m.Generation, Epoch: m.Epoch}
	}
	done(answers, nil)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// wake checks n keys of 16 bytes once each, in batches.
func wake(tb testing.TB, s *System, n int) {
	tb.Helper()
	for at := 0; at < n; at += limit.MaxBatch {
		batch := make([]limit.Request, min(limit.MaxBatch, n-at))
		for i := range batch {
			batch[i] = spend("user:"+strconv.Itoa(10_000_000_000+at+i), 1, "demo")
		}
		for _, r := range s.CheckBatch(tb.Context(), batch) {
			if r.Err != nil || !r.Decision.Allowed {
				tb.Fatalf("%+v", r)
			}
		}
	}
}

// TestIdleForgotten checks 100,000 keys once: a while later they own neither memory nor goroutines.
func TestIdleForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 100_000
		s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}})
		wake(t, s, 2*limit.MaxBatch)
		pass(10 * time.Second)
		before, goroutines := liveHeap(), runtime.NumGoroutine()

		wake(t, s, keys)
		if got := runtime.NumGoroutine(); got != goroutines {
			t.Errorf("%d goroutines with %d keys awake, %d with none", got, keys, goroutines)
		}
		if o := overview(t, s); o.Awake != keys {
			t.Errorf("%d actors are awake, want %d", o.Awake, keys)
		}
		awake := liveHeap() - before
		pass(10 * time.Second)
		if o := overview(t, s); o.Awake != 0 {
			t.Errorf("%d actors are still awake", o.Awake)
		}
		asleep := liveHeap() - before
		t.Logf("heap: %d kB with all awake, %d kB with none", awake>>10, asleep>>10)
		if asleep > awake/20 {
			t.Errorf("%d kB of heap are left of %d kB after all actors were forgotten", asleep>>10, awake>>10)
		}
		runtime.KeepAlive(s)
	})
}

// TestIdleAfter says how long an actor stays, whatever it did.
func TestIdleAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, IdleAfter: time.Minute})
		awake := func(want int) {
			t.Helper()
			if got := overview(t, s).Awake; got != want {
				t.Errorf("%d actors are awake, want %d", got, want)
			}
		}
		decide(t, s, spend("a", 1, "slow"))
		decide(t, s, spend("denied", 11, "demo"))
		decide(t, s, spend("peek", 0, "demo"))
		if err := s.Reset(t.Context(), "reset", limit.Named("demo")); err != nil {
			t.Fatal(err)
		}
		stuck := ask(t.Context(), s, spend("stuck", 1, "demo"))
		pass(59 * time.Second)
		awake(5)
		decide(t, s, spend("a", 1, "slow"))
		pass(2 * time.Second)
		awake(2) // a, and the one with a reservation in flight
		if got := settled(t, stuck); got.err == nil {
			t.Errorf("got %+v", got)
		}
		g.open()
		pass(2 * time.Minute)
		awake(0)
		if n := s.dormant(); n != 1 { // the segment came too late for its check, but is worth a token
			t.Errorf("%d keys are dormant, want 1", n)
		}
		pass(5 * time.Minute)
		if n := s.dormant(); n != 0 {
			t.Errorf("%d keys are dormant, want 0", n)
		}
		if got := drain(t, s, "a", "slow"); got != 998 {
			t.Errorf("a was forgotten and then admitted %d, want the 998 that were left", got)
		}
	})
}

// TestBusyForgotten forgets a key that reserves ahead: it stays awake while its segment is worth something.
func TestBusyForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		regs := newRegisters(now)
		s := start(t, Config{Replicas: []Replica{regs}, Now: now})
		for range 2000 {
			spendAll(t, s, spend("a", 1, "fast"), 1)
			<-time.After(time.Millisecond)
		}
		in, err := s.Inspect(t.Context(), "a", limit.Named("fast"), "")
		if err != nil || in.Segment.End <= in.Now {
			t.Fatalf("%+v, %v: a busy key holds no segment", in, err)
		}
		if regs.writes > 200 {
			t.Errorf("%d reservations for 2000 checks", regs.writes)
		}
		pass(3 * time.Second)
		if o := overview(t, s); o.Awake != 0 {
			t.Error("still awake when its segment has passed")
		}
		if got := drain(t, s, "a", "fast"); got != 100 {
			t.Errorf("%d were admitted of a full bucket of 100", got)
		}
	})
}

var _ Replica = (*storage.Store)(nil)
