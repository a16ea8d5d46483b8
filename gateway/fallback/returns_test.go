package fallback

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

// returning makes a Guard whose cluster takes admissions back so.
func returning(t *testing.T, giveBack func(context.Context, string, []limit.Receipt) ([]bool, error)) (*Guard, func(returnOutcome) float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	g := guard(t, Config{Checker: fake{giveBack: giveBack}, Registerer: registry})
	return g, func(f returnOutcome) float64 { return series(t, registry)["jeton_fallback_returns_total "+string(f)] }
}

// TestReturn gives back in the background what the request no longer waits for.
func TestReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type given struct {
			key      string
			receipts int
			value    any
			alive    bool
		}
		var got []given
		g, counted := returning(t, func(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
			at, timed := ctx.Deadline()
			got = append(got, given{key, len(receipts), ctx.Value(nameKey{}), ctx.Err() == nil && timed && time.Until(at) == returnWithin})
			if key == "bad" {
				return nil, limit.ErrUnavailable
			}
			return make([]bool, len(receipts)), nil
		})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), nameKey{}, "trace"))
		cancel()
		for _, key := range []string{"good", "bad"} {
			g.Return(ctx, key, make([]limit.Receipt, 2))
			synctest.Wait()
		}
		g.Return(ctx, "nothing", nil)
		synctest.Wait()
		want := []given{{"good", 2, "trace", true}, {"bad", 2, "trace", true}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("given back %v, want %v", got, want)
		}
		if counted(done) != 1 || counted(failed) != 1 || counted(dropped) != 0 {
			t.Errorf("%v done, %v failed, %v dropped", counted(done), counted(failed), counted(dropped))
		}
	})
}

// TestTooManyReturns holds the cluster up: as many as there is room for wait, and the others are dropped.
func TestTooManyReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		g, counted := returning(t, func(context.Context, string, []limit.Receipt) ([]bool, error) {
			<-hold
			return nil, nil
		})
		receipts := make([]limit.Receipt, 1)
		for range maxReturning {
			g.Return(t.Context(), "k", receipts)
		}
		synctest.Wait()
		for range maxReturns + 7 {
			g.Return(t.Context(), "k", receipts)
		}
		if counted(dropped) != 7 {
			t.Errorf("%v were dropped, want 7", counted(dropped))
		}
		close(hold)
		synctest.Wait()
		if counted(done) != maxReturns+maxReturning || g.returns.workers != 0 {
			t.Errorf("%v are done; %d still at work", counted(done), g.returns.workers)
		}
	})
}

// TestReturnsKeepUp gives back 4,500 a second, as a route does that charges failed logins only, to a cluster that takes 10 ms for each.
func TestReturnsKeepUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, counted := returning(t, func(context.Context, string, []limit.Receipt) ([]bool, error) {
			pause(10 * time.Millisecond)
			return nil, nil
		})
		for range 5000 {
			for range 9 {
				g.Return(t.Context(), "k", make([]limit.Receipt, 1))
			}
			pause(2 * time.Millisecond)
		}
		pause(time.Second)
		if counted(done) != 45_000 || counted(dropped) != 0 {
			t.Errorf("%v done, %v dropped", counted(done), counted(dropped))
		}
	})
}

func pause(d time.Duration) { <-time.After(d) }

// TestCloseGivesAMoment waits for what is quick, and not for what is not.
func TestCloseGivesAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Millisecond
		g, counted := returning(t, func(ctx context.Context, _ string, _ []limit.Receipt) ([]bool, error) {
			select {
			case <-time.After(each):
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		for range 1000 {
			g.Return(t.Context(), "k", make([]limit.Receipt, 1))
		}
		start := time.Now()
		g.Close()
		if took := time.Since(start); took != closeWithin {
			t.Errorf("it took %v", took)
		}
		before := counted(done) + counted(failed) + counted(dropped)
		if before != 1000 || counted(done) < maxReturning*float64(closeWithin/each-1) {
			t.Errorf("%v done, %v failed, %v dropped", counted(done), counted(failed), counted(dropped))
		}
		g.Return(t.Context(), "k", make([]limit.Receipt, 1))
		g.Close()
		if counted(done)+counted(failed)+counted(dropped) != before+1 {
			t.Error("after Close, one was not dropped")
		}

		g, counted = returning(t, func(context.Context, string, []limit.Receipt) ([]bool, error) { return nil, errors.New("no") })
		g.Return(t.Context(), "k", make([]limit.Receipt, 1))
		start = time.Now()
		g.Close()
		if time.Since(start) != 0 || counted(failed) != 1 {
			t.Errorf("it took %v, and %v failed", time.Since(start), counted(failed))
		}
	})
}

// A mute is a Checker that takes nothing back.
type mute struct{ limit.Checker }

func TestReturnToNobody(t *testing.T) {
	registry := prometheus.NewRegistry()
	g := guard(t, Config{Checker: mute{failing(nil)}, Registerer: registry})
	g.Return(t.Context(), "k", make([]limit.Receipt, 1))
	if got := series(t, registry)["jeton_fallback_returns_total dropped"]; got != 1 {
		t.Errorf("%v were dropped, want 1", got)
	}
}
