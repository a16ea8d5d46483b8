package actor

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestMailboxFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		reg := prometheus.NewRegistry()
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Mailbox: 3, Metrics: reg})
		var waiting []<-chan result
		for range 3 {
			waiting = append(waiting, ask(t.Context(), s, spend("stuck", 1, "demo")))
			synctest.Wait()
		}
		for range 2 {
			if a := settled(t, ask(t.Context(), s, spend("stuck", 1, "demo"))); !errors.Is(a.err, limit.ErrOverloaded) {
				t.Errorf("the fourth of 3: %+v", a)
			}
		}
		if err := s.Reset(t.Context(), "stuck", limit.Named("demo")); !errors.Is(err, limit.ErrOverloaded) {
			t.Errorf("a reset as the fourth of 3: %v", err)
		}
		if got := count(t, reg, "jeton_mailbox_rejections_total"); got != 3 {
			t.Errorf("%v rejections counted, want 3", got)
		}
		if got := drain(t, s, "other", "demo"); got != 10 {
			t.Errorf("another key was admitted %d times, want 10", got)
		}
		if o := overview(t, s); o.Waiting != 3 || o.Awake != 2 {
			t.Errorf("got %+v, want 3 that wait and 2 actors", o)
		}
		g.open()
		for _, a := range waiting {
			if a := settled(t, a); a.err != nil || !a.Allowed {
				t.Errorf("one that waited: %+v", a)
			}
		}
		if got := drain(t, s, "stuck", "demo"); got != 7 {
			t.Errorf("%d were admitted afterwards, want 7", got)
		}
	})
}

// stopped is a System of one shard that stops as soon as it runs the actor of the key "stop", until it may go on.
func stopped(tb testing.TB, cfg Config) (s *System, goOn func()) {
	tb.Helper()
	gate := make(chan struct{})
	cfg.Shards = 1
	cfg.beforeStep = func(key string) {
		if key == "stop" {
			<-gate
		}
	}
	s = start(tb, cfg)
	goOn = sync.OnceFunc(func() { close(gate) })
	tb.Cleanup(goOn)
	return s, goOn
}

func TestInboxFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s, goOn := stopped(t, Config{Inbox: 5, Metrics: reg})
		stop := ask(t.Context(), s, spend("stop", 1, "demo"))
		pending(t, stop)
		var waiting []<-chan result
		for i := range 3 {
			waiting = append(waiting, ask(t.Context(), s, spend(strconv.Itoa(i), 1, "demo")))
			pending(t, waiting[i])
		}
		batch := make([]limit.Request, 4)
		for i := range batch {
			batch[i] = spend("batch", int64(1+i), "demo")
		}
		results := make(chan []limit.Result, 1)
		go func() { results <- s.CheckBatch(t.Context(), batch) }()
		synctest.Wait()
		if a := settled(t, ask(t.Context(), s, spend("late", 1, "demo"))); !errors.Is(a.err, limit.ErrOverloaded) {
			t.Errorf("the sixth of 5: %+v", a)
		}
		if _, err := s.Overview(t.Context(), 1); !errors.Is(err, limit.ErrOverloaded) {
			t.Errorf("an overview as the sixth of 5: %v", err)
		}
		if got := count(t, reg, "jeton_mailbox_rejections_total"); got != 4 {
			t.Errorf("%v rejections counted, want 2 of the batch and 2", got)
		}
		goOn()
		for _, a := range append(waiting, stop) {
			if a := settled(t, a); a.err != nil || !a.Allowed {
				t.Errorf("one that had its place: %+v", a)
			}
		}
		for i, r := range <-results {
			if fits := i < 2; fits != (r.Err == nil && r.Decision.Allowed) || !fits && !errors.Is(r.Err, limit.ErrOverloaded) {
				t.Errorf("item %d of a batch of which 2 fit: %+v", i, r)
			}
		}
		if got := drain(t, s, "batch", "demo"); got != 7 {
			t.Errorf("%d were admitted after 1 + 2 of 10, want 7", got)
		}
	})
}

// TestSilentReplica has a replica that does not answer for one key.
func TestSilentReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 1})
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 70*time.Millisecond)
		defer cancel()
		longer, cancelLonger := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancelLonger()
		whole := ask(t.Context(), s, spend("stuck", 4, "demo"))
		synctest.Wait()
		first, second := ask(short, s, spend("stuck", 3, "demo")), ask(longer, s, spend("stuck", 2, "demo"))
		canceled, giveUp := context.WithCancel(t.Context())
		third := ask(canceled, s, spend("stuck", 1, "demo"))
		pending(t, first)
		pending(t, third)

		// Denials and other keys do not wait.
		if a := settled(t, ask(t.Context(), s, spend("stuck", 11, "demo"))); a.err != nil || !a.Limits[0].Never {
			t.Errorf("a cost that can never pass: %+v", a)
		}
		if a := settled(t, ask(t.Context(), s, spend("other", 1, "demo"))); a.err != nil || !a.Allowed {
			t.Errorf("another key: %+v", a)
		}
		giveUp()
		if a := settled(t, third); !errors.Is(a.err, context.Canceled) || a.at.Sub(began) != 0 {
			t.Errorf("canceled: %+v, want that at once", a)
		}
		pass(4 * time.Second)
		for _, a := range []struct {
			answers <-chan result
			after   time.Duration
		}{{first, 70 * time.Millisecond}, {second, 3 * time.Second}} {
			if got := settled(t, a.answers); !errors.Is(got.err, context.DeadlineExceeded) || got.at.Sub(began) != a.after {
				t.Errorf("got %+v after %v, want a deadline exceeded after %v", got, got.at.Sub(began), a.after)
			}
		}
		pass(MaxWait)
		if a := settled(t, whole); !errors.Is(a.err, context.DeadlineExceeded) || a.at.Sub(began) != MaxWait {
			t.Errorf("without a deadline of its own: %+v, want a deadline exceeded after %v", a, MaxWait)
		}

		g.open()
		synctest.Wait()
		if got := drain(t, s, "stuck", "demo"); got != 10 {
			t.Errorf("%d were admitted once the replica had come back, want 10", got)
		}
	})
}

// TestDeniedWhileWaiting empties a bucket and then stalls its replica: nothing need be asked to deny.
func TestDeniedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("nobody")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		drain(t, s, "a", "demo")
		g.mu.Lock()
		g.shut = []string{"a"}
		g.mu.Unlock()
		waiting := ask(t.Context(), s, spend("a", 1, "slow"))
		pending(t, waiting)
		for _, r := range []limit.Request{spend("a", 1, "demo"), spend("a", 1, "slow", "demo"), spend("a", 1, "demo", "fast")} {
			if a := settled(t, ask(t.Context(), s, r)); a.err != nil || a.Allowed {
				t.Errorf("%+v: got %+v, want a denial at once", r, a)
			}
		}
		g.open()
		if a := settled(t, waiting); !a.Allowed {
			t.Errorf("what waited: %+v", a)
		}
	})
}

// TestManyExpire has a great many checks wait for a replica that does not answer, each with a deadline of its own.
func TestManyExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		began := time.Now()
		var wait sync.WaitGroup
		for i := range 1000 {
			wait.Go(func() {
				after := time.Duration(1+i*7919%1000) * time.Millisecond
				ctx, cancel := context.WithDeadline(t.Context(), began.Add(after))
				defer cancel()
				_, err := s.Check(ctx, spend("stuck", 1, "wide"))
				if got := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || got != after {
					t.Errorf("got %v after %v, want a deadline exceeded after %v", err, got, after)
				}
			})
		}
		wait.Wait()
		synctest.Wait()
		if o := overview(t, s); o.Waiting != 0 {
			t.Errorf("%d still wait", o.Waiting)
		}
		g.open()
	})
}

// TestEndedContext asks with a context that has ended: nothing is charged.
func TestEndedContext(t *testing.T) {
	s := start(t, Config{})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for ctx, want := range map[context.Context]error{canceled: context.Canceled, late: context.DeadlineExceeded} {
		if _, err := s.Check(ctx, spend("a", 1, "demo")); !errors.Is(err, want) {
			t.Errorf("check: %v, want %v", err, want)
		}
		for _, r := range s.CheckBatch(ctx, []limit.Request{spend("a", 1, "demo"), spend("b", 1, "demo")}) {
			if !errors.Is(r.Err, want) {
				t.Errorf("batch: %v, want %v", r.Err, want)
			}
		}
		if err := s.Reset(ctx, "a", limit.Named("demo")); !errors.Is(err, want) {
			t.Errorf("reset: %v, want %v", err, want)
		}
		if _, err := s.Return(ctx, "a", nil); !errors.Is(err, want) {
			t.Errorf("return: %v, want %v", err, want)
		}
		if _, err := s.Overview(ctx, 1); !errors.Is(err, want) {
			t.Errorf("overview: %v, want %v", err, want)
		}
	}
	if o := overview(t, s); o.Awake != 0 {
		t.Errorf("%d actors were woken", o.Awake)
	}
}

// TestBatchCanceled gives up a batch of which some are answered.
func TestBatchCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan []limit.Result, 1)
		go func() {
			results <- s.CheckBatch(ctx, []limit.Request{spend("a", 1, "demo"), spend("stuck", 1, "demo")})
		}()
		synctest.Wait()
		cancel()
		for _, r := range <-results {
			if !errors.Is(r.Err, context.Canceled) {
				t.Errorf("got %+v, want that the call was canceled", r)
			}
		}
		g.open()
		if got := remaining(t, s, "a", "demo"); got != 9 {
			t.Errorf("%d of 10 remain of the key that was decided, want 9", got)
		}
	})
}

// TestLongRound has a shard be so busy that a round of its loop takes longer than clocks may differ: that is no reason to
// refuse what it reserves.
func TestLongRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := start(t, Config{Shards: 1, Metrics: reg, beforeStep: func(string) { <-time.After(time.Millisecond) }})
		batch := make([]limit.Request, 400)
		for i := range batch {
			batch[i] = spend(strconv.Itoa(i), 1, "demo")
		}
		for i, r := range s.CheckBatch(t.Context(), batch) {
			if r.Err != nil || !r.Decision.Allowed {
				t.Fatalf("item %d: %+v", i, r)
			}
		}
		if got := count(t, reg, "jeton_reservation_refusals_total"); got != 0 {
			t.Errorf("%v reservations were refused", got)
		}
	})
}
