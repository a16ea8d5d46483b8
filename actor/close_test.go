package actor

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage"
)

func TestNew(t *testing.T) {
	for _, n := range []int{0, owner.MaxReplicas + 1} {
		if _, err := New(Config{Replicas: make([]Replica, n)}); err == nil || !strings.Contains(err.Error(), strconv.Itoa(n)+" replicas") {
			t.Errorf("%d replicas: %v", n, err)
		}
	}
	if a, b := start(t, Config{}), start(t, Config{}); a.ID() == b.ID() {
		t.Errorf("two Systems are called %v", a.ID())
	}
}

// TestCloseWhileWaiting closes a System on which everything waits.
func TestCloseWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		reg := prometheus.NewRegistry()
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Metrics: reg})
		var waiting []<-chan result
		for i := range 20 {
			waiting = append(waiting, ask(t.Context(), s, named(strconv.Itoa(i/2), spend("stuck", 1, "demo"))))
		}
		resets := make(chan error, 1)
		go func() { resets <- s.Reset(t.Context(), "stuck", limit.Named("demo")) }()
		synctest.Wait()
		if got := count(t, reg, "jeton_awake_actors"); got != 1 {
			t.Errorf("%v awake actors, want 1", got)
		}
		s.Close()
		for _, a := range waiting {
			if a := settled(t, a); !errors.Is(a.err, limit.ErrUnavailable) {
				t.Errorf("got %+v, want unavailable", a)
			}
		}
		if err := <-resets; !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("the reset: %v, want unavailable", err)
		}
		if got := count(t, reg, "jeton_awake_actors"); got != 0 {
			t.Errorf("%v awake actors in a System that is closed", got)
		}
		g.open() // late answers
		afterClose(t, s)
		s.Close()
	})
}

// TestCloseHandsOverNothing closes a System that has reserved ahead, and has two others go on with its key: what it had
// reserved and not spent belongs to neither: otherwise both could spend it.
func TestCloseHandsOverNothing(t *testing.T) {
	store := open(t, storage.Config{})
	var spent receipts
	use := func(s *System) {
		for range 40 { // it is a busy key
			r := spend("one", 1, "fast")
			r.Receipt = true
			spent.add(r.Key, r.Cost, decide(t, s, r))
		}
	}
	first := start(t, Config{Replicas: []Replica{store}})
	use(first)
	first.Close()
	second, third := start(t, Config{Replicas: []Replica{store}}), start(t, Config{Replicas: []Replica{store}})
	use(second)
	use(third)
	spent.verify(t)
	if spent.count() < 40 {
		t.Errorf("only %d were admitted", spent.count())
	}
}

// afterClose asks a closed System for everything.
func afterClose(t *testing.T, s *System) {
	t.Helper()
	ctx := t.Context()
	_, checked := s.Check(ctx, spend("a", 1, "demo"))
	_, returned := s.Return(ctx, "a", nil)
	_, inspected := s.Inspect(ctx, "a", limit.Named("demo"), "")
	_, looked := s.Overview(ctx, 1)
	errs := []error{checked, returned, inspected, looked, s.Reset(ctx, "a", limit.Named("demo"))}
	for _, r := range s.CheckBatch(ctx, []limit.Request{spend("a", 1, "demo"), spend("b", 1, "demo")}) {
		errs = append(errs, r.Err)
	}
	for i, err := range errs {
		if !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("call %d after Close: %v, want unavailable", i, err)
		}
	}
}

// TestCloseUnderLoad closes a System in the middle of everything: every call comes back.
func TestCloseUnderLoad(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{open(t, storage.Config{})}})
	var (
		wait     sync.WaitGroup
		decided  atomic.Int64
		underWay = make(chan struct{})
		first    = sync.OnceFunc(func() { close(underWay) })
	)
	for i := range 32 {
		wait.Go(func() {
			for j := 0; ; j++ {
				key := strconv.Itoa(j % 100)
				var errs []error
				if i%2 == 0 {
					_, err := s.Check(t.Context(), spend(key, 1, "fast"))
					errs = append(errs, err)
				} else {
					for _, r := range s.CheckBatch(t.Context(), []limit.Request{spend(key, 1, "fast"), spend("x", 1, "wide")}) {
						errs = append(errs, r.Err)
					}
				}
				for _, err := range errs {
					if err != nil && !errors.Is(err, limit.ErrUnavailable) {
						t.Errorf("got %v, want unavailable", err)
					}
				}
				if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
					return
				}
				if decided.Add(1) == 5000 {
					first()
				}
			}
		})
	}
	<-underWay
	s.Close()
	wait.Wait()
	afterClose(t, s)
}

// TestReplicaEnds closes the Store under a System: what needs it fails at once.
func TestReplicaEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		store, err := storage.Open(storage.Config{FS: fs, Dir: "data", Now: clock.New().Now})
		if err != nil {
			t.Fatal(err)
		}
		found(t, store)
		s := start(t, Config{Replicas: []Replica{store}})
		decide(t, s, spend("a", 4, "demo"))
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i := range 5 {
			if _, err := s.Check(t.Context(), spend("a", 1, "demo")); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("a check after the store was closed: %v, want unavailable", err)
			}
			if _, err := s.Check(t.Context(), spend(strconv.Itoa(i), 1, "demo")); !errors.Is(err, limit.ErrUnavailable) {
				t.Errorf("a check of a new key after the store was closed: %v, want unavailable", err)
			}
		}
		if err := s.Reset(t.Context(), "a", limit.Named("demo")); !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("a reset after the store was closed: %v, want unavailable", err)
		}
		if _, err := s.Inspect(t.Context(), "b", limit.Named("demo"), ""); !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("inspected registers of a store that is closed: %v", err)
		}
		if in := inspect(t, s, limit.Named("demo")); !in.Awake || in.Tokens != 6 || in.Registers[0].Error == "" {
			t.Errorf("inspected an actor whose store is closed: %+v, want 6 tokens and a register that cannot be read", in)
		}
		if d, err := s.Check(t.Context(), spend("a", 11, "demo")); err != nil || d.Allowed {
			t.Errorf("a denial needs no store: %+v, %v", d, err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("all that took %v", took)
		}
		// Another life on the same registers.
		again := start(t, Config{Replicas: []Replica{open(t, storage.Config{FS: fs})}})
		if got := drain(t, again, "a", "demo"); got != 6 {
			t.Errorf("the next life admitted %d after 4 of 10, want 6", got)
		}
	})
}
