package actor

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jeton-dev/jeton/actor/limit"
)

// as is the context of what a caller asks.
func as(t *testing.T, caller string) context.Context {
	t.Helper()
	return limit.WithCaller(t.Context(), caller)
}

// flood has a caller check n new keys in batches, and calls done with the results of each.
func flood(t *testing.T, s *System, caller string, n int, done func([]limit.Result)) (wait func()) {
	t.Helper()
	var batches sync.WaitGroup
	for at := 0; at < n; at += limit.MaxBatch {
		batch := make([]limit.Request, min(limit.MaxBatch, n-at))
		for i := range batch {
			batch[i] = spend("flood:"+caller+":"+strconv.Itoa(at+i), 1, "demo")
		}
		batches.Go(func() { done(s.CheckBatch(as(t, caller), batch)) })
	}
	return batches.Wait
}

// served fails the test where results are not decisions.
func served(t *testing.T) func([]limit.Result) {
	t.Helper()
	return func(rs []limit.Result) {
		for _, r := range rs {
			if r.Err != nil {
				t.Error(r.Err)
				return
			}
		}
	}
}

// TestCallersTakeTurns has callers with a great many checks each in front of one that has one: it waits for its turn, and
// not for all of them.
func TestCallersTakeTurns(t *testing.T) {
	for _, callers := range []int{1, 7, 40} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			var order []string
			s := start(t, Config{Shards: 1, beforeStep: func(key string) {
				if key == "stop" {
					<-gate
				}
				order = append(order, key)
			}})
			stop := ask(t.Context(), s, spend("stop", 1, "demo"))
			synctest.Wait()
			var waits []func()
			for i := range callers {
				waits = append(waits, flood(t, s, strconv.Itoa(i), 2*limit.MaxBatch, served(t)))
			}
			synctest.Wait()
			honest := ask(as(t, "honest"), s, spend("honest", 1, "demo"))
			synctest.Wait()
			close(gate)
			if got := settled(t, honest); got.err != nil || !got.Allowed {
				t.Errorf("%+v", got)
			}
			for _, wait := range waits {
				wait()
			}
			settled(t, stop)
			first, before := map[string]bool{}, 0
			for _, key := range order {
				if key == "honest" {
					break
				}
				if !first[key] {
					first[key] = true
					before++
				}
			}
			if most := 2 * maxTurn * (callers + 1); before > most {
				t.Errorf("%d keys of %d callers were served before one that had one check, want at most %d", before, callers, most)
			}
		})
	}
}

// TestWindow has callers ask for more than their windows while replicas do not answer: no more than that is on its way to
// them, less for the second one, and another caller's check passes. When they answer, all are served.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("flood")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 1})
		wait := flood(t, s, "a", 4*limit.MaxBatch, served(t))
		synctest.Wait()
		o := overview(t, s)
		if o.Waiting != maxOpen || o.Shards[0].Inbox != 4*limit.MaxBatch-maxOpen {
			t.Errorf("%d wait and %d are not looked at, want %d in the window", o.Waiting, o.Shards[0].Inbox, maxOpen)
		}
		settled(t, ask(as(t, "b"), s, spend("honest", 1, "demo"))) // asks for a little
		waitAsWell := flood(t, s, "c", limit.MaxBatch, served(t))
		synctest.Wait()
		if o := overview(t, s); o.Waiting != maxOpen+maxOpenNarrow {
			t.Errorf("%d wait, want %d of the first and %d of the second", o.Waiting, maxOpen, maxOpenNarrow)
		}
		if got := settled(t, ask(as(t, "b"), s, spend("honest", 1, "demo"))); got.err != nil || !got.Allowed {
			t.Errorf("another caller: %+v", got)
		}
		pending(t, ask(as(t, "a"), s, spend("own", 1, "demo")))
		g.open()
		wait()
		waitAsWell()
		synctest.Wait()
		sh := s.shards[0]
		if n := len(sh.inbox.lanes); n != 0 || sh.inbox.mail != 0 || sh.inbox.ready != 0 {
			t.Errorf("%d lanes are left with %d mails, %d of them ready", n, sh.inbox.mail, sh.inbox.ready)
		}
	})
}

// TestWindowOfTheLost has checks run out of time in the window: those behind them are looked at then.
func TestWindowOfTheLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("flood")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 1})
		wait := flood(t, s, "a", 2*maxOpen, func(rs []limit.Result) {
			for _, r := range rs {
				if !errors.Is(r.Err, context.DeadlineExceeded) {
					t.Errorf("%+v", r)
					return
				}
			}
		})
		synctest.Wait()
		behind := ask(as(t, "a"), s, spend("behind", 1, "demo"))
		pending(t, behind)
		pass(MaxWait)
		wait()
		if got := settled(t, behind); !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("one that stood behind: %+v", got)
		}
		if got := drain(t, s, "x", "demo"); got != 10 {
			t.Errorf("%d were admitted afterwards, want 10", got)
		}
		if got := settled(t, ask(as(t, "a"), s, spend("behind", 1, "demo"))); got.err != nil || !got.Allowed {
			t.Errorf("the caller itself, afterwards: %+v", got)
		}
		g.open()
	})
}

// TestRoomForOthers has a caller hand in more than there is room for: others find room.
func TestRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, goOn := stopped(t, Config{Inbox: 1000})
		stop := ask(t.Context(), s, spend("stop", 1, "demo"))
		pending(t, stop)
		var mu sync.Mutex
		refused := map[string]int{}
		count := func(caller string) func([]limit.Result) {
			return func(rs []limit.Result) {
				mu.Lock()
				defer mu.Unlock()
				for _, r := range rs {
					if errors.Is(r.Err, limit.ErrOverloaded) {
						refused[caller]++
					} else if r.Err != nil {
						t.Error(r.Err)
					}
				}
			}
		}
		var waits []func()
		for _, caller := range []string{"a", "b", "c"} {
			waits = append(waits, flood(t, s, caller, 2*limit.MaxBatch, count(caller)))
			synctest.Wait()
		}
		honest := ask(as(t, "honest"), s, spend("honest", 1, "demo"))
		pending(t, honest)
		goOn()
		for _, wait := range waits {
			wait()
		}
		if got := settled(t, honest); got.err != nil || !got.Allowed {
			t.Errorf("one that came after the others: %+v", got)
		}
		for caller, n := range refused {
			if n < limit.MaxBatch {
				t.Errorf("%s: %d of %d were refused", caller, n, 2*limit.MaxBatch)
			}
		}
		settled(t, stop)
	})
}
