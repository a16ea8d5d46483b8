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
	"github.com/jeton-dev/jeton/storage"
)

// told are the answers of a Each, by place.
type told struct {
	mu      sync.Mutex
	answers map[int][]limit.Result
}

// checkEach starts an Each of checks.
func checkEach(ctx context.Context, s *System, rs []limit.Request) *told {
	w := &told{answers: map[int][]limit.Result{}}
	s.Each(ctx, rs, func(place int, r limit.Result) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.answers[place] = append(w.answers[place], r)
	}, nil, nil)
	return w
}

// want fails t unless exactly these places have been answered, once each, and says that the answers are ok.
func (w *told) want(t *testing.T, ok func(limit.Result) bool, places ...int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.answers) != len(places) {
		t.Errorf("%d are answered, want %d: %+v", len(w.answers), len(places), w.answers)
	}
	for _, place := range places {
		if got := w.answers[place]; len(got) != 1 || !ok(got[0]) {
			t.Errorf("the answers to %d: %+v", place, got)
		}
	}
}

func admitted(r limit.Result) bool { return r.Err == nil && r.Decision.Allowed }

// warmUp is how many checks make a key busy: then it has reserved ahead.
const warmUp = 50

// TestEachWaitsForNoOther has a reservation held back: no other check of the message waits for it, and none of a later
// one, though its key is new.
func TestEachWaitsForNoOther(t *testing.T) {
	for _, shards := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			g, now := shutFor("stuck")
			reg := prometheus.NewRegistry()
			s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: shards, Metrics: reg})
			keys := []string{"a", "b", "c", "d"}
			for range warmUp {
				for _, key := range keys {
					decide(t, s, spend(key, 1, "fast"))
				}
				pass(10 * time.Millisecond)
			}
			first := checkEach(t.Context(), s, []limit.Request{
				spend("a", 1, "fast"), spend("b", 1, "fast"), spend("stuck", 1, "demo"), spend("c", 1, "fast"),
				spend("d", 1, "fast"), spend("stuck", 11, "demo"), spend("a", 1, "unknown"),
			})
			synctest.Wait()
			first.mu.Lock()
			late, unknown := first.answers[2], first.answers[6]
			denied := first.answers[5]
			first.mu.Unlock()
			if len(late) != 0 || len(denied) != 1 || denied[0].Err != nil || denied[0].Decision.Allowed ||
				len(unknown) != 1 || !errors.Is(unknown[0].Err, limit.ErrUnknownLimit) {
				t.Errorf("the stuck one: %+v, one that can never pass: %+v, one without a limit: %+v", late, denied, unknown)
			}
			second := checkEach(t.Context(), s, []limit.Request{spend("new", 1, "demo"), spend("new", 1, "demo")})
			synctest.Wait()
			second.want(t, admitted, 0, 1)
			g.open()
			synctest.Wait()
			first.want(t, func(limit.Result) bool { return true }, 0, 1, 2, 3, 4, 5, 6)
			if got := remaining(t, s, "stuck", "demo"); got != 9 {
				t.Errorf("%d of 10 remain, want 9", got)
			}
			if got := remaining(t, s, "new", "demo"); got != 8 {
				t.Errorf("%d of 10 remain, want 8", got)
			}
			if got := count(t, reg, "jeton_check_seconds"); got != 4*warmUp+7+2+2 {
				t.Errorf("%v latencies were counted, want one for each check", got)
			}
		})
	}
}

// TestEachSharesAMessage has new keys of one call reserved together.
func TestEachSharesAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := quorum(t, 3, Config{Shards: 1})
		var rs []limit.Request
		for i := range 20 {
			rs = append(rs, spend("new:"+strconv.Itoa(i), 1, "demo"))
		}
		c.peers[1].counted()
		w := checkEach(t.Context(), s, rs)
		pass(2 * travel)
		w.want(t, admitted, places(len(rs))...)
		if messages, reservations := c.peers[1].counted(); messages != 1 || reservations != len(rs) {
			t.Errorf("a peer got %d reservations in %d messages, want %d in one", reservations, messages, len(rs))
		}
	})
}

func places(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestEachContextEnds ends the context of checks that wait: each is answered with its error, once, also when there is a
// decision later.
func TestEachContextEnds(t *testing.T) {
	for what, end := range map[string]func(context.Context) (context.Context, context.CancelFunc, error){
		"given up": func(ctx context.Context) (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel, context.Canceled
		},
		"too late": func(ctx context.Context) (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			return ctx, func() { pass(time.Second); cancel() }, context.DeadlineExceeded
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, now := shutFor("stuck")
				s := start(t, Config{Replicas: []Replica{g}, Now: now})
				decide(t, s, spend("a", 0, "demo"))
				ctx, cancel, want := end(t.Context())
				w := checkEach(ctx, s, []limit.Request{spend("stuck:1", 1, "demo"), spend("a", 0, "demo"), spend("stuck:2", 1, "demo")})
				synctest.Wait()
				w.want(t, admitted, 1)
				cancel()
				synctest.Wait()
				ended := func(r limit.Result) bool { return admitted(r) || errors.Is(r.Err, want) }
				w.want(t, ended, 0, 1, 2)
				for range 10 { // calls of others must not get the mail that still waits
					decide(t, s, spend("a", 0, "demo"))
					checkEach(t.Context(), s, []limit.Request{spend("a", 0, "demo"), spend("b", 0, "demo")}).want(t, admitted, 0, 1)
				}
				g.open()
				synctest.Wait()
				w.want(t, ended, 0, 1, 2)
				after := checkEach(ctx, s, []limit.Request{spend("a", 0, "demo"), spend("b", 0, "demo")})
				after.want(t, func(r limit.Result) bool { return errors.Is(r.Err, want) }, 0, 1)
			})
		})
	}
}

// TestEachRefused asks for what is not looked at.
func TestEachRefused(t *testing.T) {
	s := start(t, Config{})
	checkEach(t.Context(), s, nil).want(t, admitted)
	tooMany := checkEach(t.Context(), s, make([]limit.Request, limit.MaxBatch+1))
	tooMany.want(t, func(r limit.Result) bool {
		fe, ok := errors.AsType[*limit.FieldError](r.Err)
		return ok && fe.Field == "checks"
	}, places(limit.MaxBatch+1)...)
	s.Close()
	checkEach(t.Context(), s, []limit.Request{spend("a", 1, "demo"), {}}).want(t, func(r limit.Result) bool { return r.Err != nil }, 0, 1)
}

// TestEachUnderLoad has many calls end by every way at once: each check is answered exactly once.
func TestEachUnderLoad(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{open(t, storage.Config{})}})
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			for j := range 100 {
				var rs []limit.Request
				for k := range 20 {
					rs = append(rs, spend(strconv.Itoa((i+j*k)%500), 1, "wide"))
				}
				ctx, cancel := context.WithCancel(t.Context())
				answers := make(chan int, 2*len(rs))
				s.Each(ctx, rs, func(place int, _ limit.Result) { answers <- place }, nil, nil)
				if j%2 == 0 {
					cancel()
				}
				got := map[int]bool{}
				for range rs {
					got[<-answers] = true
				}
				cancel()
				if len(got) != len(rs) || len(answers) > 0 {
					t.Errorf("%d of %d checks are answered, and %d twice", len(got), len(rs), len(answers))
				}
			}
		})
	}
	wait.Wait()
}
