package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callFunc is a caller made of a function.
type callFunc func(ctx context.Context, keys []string, t *tally) bool

func (f callFunc) call(ctx context.Context, keys []string, t *tally) bool { return f(ctx, keys, t) }

// fakeService is a service whose callers all do the same.
func fakeService(f callFunc) service {
	return service{caller: func(int) caller { return f }, close: func() error { return nil }}
}

// takes is a service that allows everything after a while.
func takes(d time.Duration) service {
	return fakeService(func(ctx context.Context, keys []string, t *tally) bool {
		pause(ctx, d)
		if ctx.Err() != nil {
			return t.failedCall(ctx, ctx.Err(), len(keys))
		}
		for range keys {
			t.decided(true)
		}
		return true
	})
}

func mustMeasure(t *testing.T, ctx context.Context, l Load, s service) Report { //nolint:revive // the test comes first
	t.Helper()
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	r, err := measure(ctx, l, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// near says whether two durations are the same to the three digits that a histogram keeps.
func near(a, b time.Duration) bool { return (a - b).Abs() <= b/500 }

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Load{Callers: 8, Batch: 5, Duration: 10 * time.Second, Warmup: time.Second}
		r := mustMeasure(t, t.Context(), l, takes(100*time.Millisecond))
		if r.Calls != 800 || r.Checks != 4000 || r.Allowed != 4000 || r.Denied != 0 || len(r.Errors) != 0 {
			t.Errorf("8 callers with 10 calls a second each, of 5 checks, for 10 s: %+v", r)
		}
		if r.Elapsed != l.Duration || r.ChecksPerSecond != 400 {
			t.Errorf("%v, %v checks/s", r.Elapsed, r.ChecksPerSecond)
		}
		for _, got := range []time.Duration{r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.P999, r.Latency.Max} {
			if !near(got, 100*time.Millisecond) {
				t.Errorf("latencies %+v", r.Latency)
			}
		}
	})
}

// A service that stalls for a second while 100 calls a second are due delays all hundred of them: the latencies must
// show each, though the only caller made only one call meanwhile.
func TestNoCoordinatedOmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := fakeService(func(ctx context.Context, _ []string, t *tally) bool {
			if calls++; calls == 101 {
				pause(ctx, time.Second)
			}
			t.decided(true)
			return true
		})
		r := mustMeasure(t, t.Context(), Load{Callers: 1, Rate: 100, Duration: 10 * time.Second}, s)
		if r.Calls != 1000 || r.Unmade != 0 {
			t.Errorf("%d calls, %d unmade, of 1,000", r.Calls, r.Unmade)
		}
		// The calls due at 1.00, 1.01 … 1.99 s are answered at 2.00 s; the 99 after the first begin late.
		if r.Late != 99 || r.Latest != 990*time.Millisecond {
			t.Errorf("%d late calls, by up to %v", r.Late, r.Latest)
		}
		if !near(r.Latency.Max, time.Second) || !near(r.Latency.P99, 900*time.Millisecond) || r.Latency.P90 > time.Millisecond {
			t.Errorf("latencies %+v", r.Latency)
		}
	})
}

func TestCallersThatCannotKeepUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Load{Callers: 2, Rate: 100, Duration: 9 * time.Second, Warmup: time.Second}
		r := mustMeasure(t, t.Context(), l, takes(100*time.Millisecond)) // 20 calls a second at most
		if r.Calls != 180 || r.Unmade != 800 {
			t.Errorf("%d calls, %d unmade, of 1,000 that were due in 10 s", r.Calls, r.Unmade)
		}
		// The last call begins at 9.9 s, and is the 200th: it was due at 1.99 s.
		if !near(r.Latency.Max, 8010*time.Millisecond) {
			t.Errorf("latencies %+v", r.Latency)
		}
		var text strings.Builder
		if err := r.Write(&text); err != nil || !strings.Contains(text.String(), "could not keep up") {
			t.Errorf("the report does not say so: %v\n%s", err, text.String())
		}
	})
}

func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3050*time.Millisecond)
		defer cancel()
		r := mustMeasure(t, ctx, Load{Callers: 4, Duration: time.Minute, Warmup: time.Second}, takes(100*time.Millisecond))
		if !r.Interrupted || r.Calls != 80 || len(r.Errors) != 0 || r.ChecksPerSecond != 40 {
			t.Errorf("interrupted after 2 s of load: %+v", r)
		}
	})
}

// A service that never answers does not hold up the end for ever, and is not taken for one that answered.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := mustMeasure(t, t.Context(), Load{Callers: 4, Duration: time.Second}, takes(time.Hour))
		if r.Interrupted || len(r.Errors) != 1 || r.Errors[0].Checks != 4 || r.Errors[0].Code != codes.DeadlineExceeded.String() {
			t.Errorf("%+v", r)
		}
	})
}

func TestErrorsAreCountedByCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		s := fakeService(func(ctx context.Context, _ []string, t *tally) bool {
			pause(ctx, 10*time.Millisecond)
			switch n.Add(1) % 4 {
			case 0:
				t.decided(false)
			case 1:
				return t.failedCall(ctx, status.Error(codes.Unavailable, "no quorum"), 1)
			case 2:
				return t.failedCall(ctx, errors.New("odd"), 1)
			default:
				t.failedCheck(int32(codes.Unavailable), "stopping")
			}
			return true
		})
		r := mustMeasure(t, t.Context(), Load{Callers: 1, Duration: 4 * time.Second}, s)
		want := []Fault{{"Unavailable", 200, "no quorum"}, {"Unknown", 100, "odd"}}
		if r.Checks != 400 || r.Denied != 100 || len(r.Errors) != 2 || r.Errors[0] != want[0] || r.Errors[1] != want[1] {
			t.Errorf("%+v", r)
		}
	})
}

func TestReportJSON(t *testing.T) {
	r := Report{
		Checks: 2, ChecksPerSecond: 2, Calls: 2, Allowed: 1, Errors: []Fault{{"Unavailable", 1, "no quorum"}},
		Elapsed: time.Second, Latency: Percentiles{1, 2, 3, 4, 5},
	}
	text, err := json.Marshal(r)
	want := `{"checks":2,"checks_per_second":2,"calls":2,"allowed":1,"denied":0,` +
		`"errors":[{"code":"Unavailable","checks":1,"first":"no quorum"}],"elapsed_ns":1000000000,` +
		`"latency_ns":{"p50":1,"p90":2,"p99":3,"p99.9":4,"max":5},"generator_cpu_ns":0}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want\n%s", text, err, want)
	}
}

func TestReportOfNothing(t *testing.T) {
	r := (&run{}).report(newTally())
	var text strings.Builder
	if err := r.Write(&text); err != nil || strings.Contains(text.String(), "NaN") || r.Latency != (Percentiles{}) {
		t.Errorf("%+v\n%s", r, text.String())
	}
	if out, err := json.Marshal(r); err != nil || !strings.Contains(string(out), `"errors":[]`) {
		t.Errorf("%s, %v", out, err)
	}
}
