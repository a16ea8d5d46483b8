package gubernator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// asked is a Limiter that notes what it is asked, and answers by a function.
type asked struct {
	limit.Limiter

	calls  []string
	answer func(r limit.Request) limit.Result
	reset  error
}

func (a *asked) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if _, ok := ctx.Deadline(); !ok {
		a.calls = append(a.calls, "without a deadline")
	}
	var keys []string
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		keys = append(keys, fmt.Sprintf("%s:%d", r.Key, r.Cost))
		results[i] = a.answer(r)
	}
	a.calls = append(a.calls, strings.Join(keys, " "))
	return results
}

func (a *asked) Reset(_ context.Context, key string, _ limit.Ref) error {
	a.calls = append(a.calls, "reset "+key)
	return a.reset
}

func allowed(limit.Request) limit.Result { return decision(true, 5) }

func decision(allowed bool, remaining int64) limit.Result {
	return limit.Result{Decision: limit.Decision{Allowed: allowed, Limits: []limit.Outcome{{Allowed: allowed, Remaining: remaining}}}}
}

func of(key string, hits int64, behavior gubernatorpb.Behavior) *gubernatorpb.RateLimitReq {
	return &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: key, Hits: hits, Limit: 10, Duration: 60_000, Behavior: behavior}
}

// TestOneBatch says what a request asks of the decider: nearly always one batch.
func TestOneBatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []*gubernatorpb.RateLimitReq
		calls []string
	}{
		{"nothing", nil, nil},
		{"only wrong ones", []*gubernatorpb.RateLimitReq{of("", 1, 0)}, nil},
		{"one key twice, and a look", []*gubernatorpb.RateLimitReq{of("a", 1, 0), of("b", 2, 0), of("a", 0, 0)}, []string{"a:1 b:2 a:0"}},
		{"every behavior that changes nothing", []*gubernatorpb.RateLimitReq{of("a", 1, 1|2|16)}, []string{"a:1"}},
		{"a reset first", []*gubernatorpb.RateLimitReq{of("a", 1, resetFlag), of("a", 1, 0)}, []string{"reset a", "a:0 a:1"}},
		{"a reset between", []*gubernatorpb.RateLimitReq{of("a", 1, 0), of("b", 1, 0), of("a", 1, resetFlag), of("a", 1, 0)}, []string{"a:1 b:1", "reset a", "a:0 a:1"}},
		{"drains of several keys", []*gubernatorpb.RateLimitReq{of("a", 1, drainFlag), of("b", 1, drainFlag)}, []string{"a:1 b:1"}},
		{"after a drain", []*gubernatorpb.RateLimitReq{of("a", 1, drainFlag), of("b", 1, 0), of("a", 1, 0)}, []string{"a:1 b:1", "a:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &asked{answer: allowed}
			ask(t, door(t, Config{Limiter: a}).service, tt.items...)
			if !slices.Equal(a.calls, tt.calls) {
				t.Errorf("it was asked %q, want %q", a.calls, tt.calls)
			}
		})
	}
}

// TestDrainsAmongOthers has others take what is left, before a drain does.
func TestDrainsAmongOthers(t *testing.T) {
	for _, tt := range []struct {
		name      string
		left      []int64 // after each denial; then a check is allowed, and leaves nothing
		err       error   // of the last check, instead
		calls     int
		remaining int64
	}{
		{"nobody", []int64{3}, nil, 2, 0},
		{"nothing is left", []int64{0}, nil, 1, 0},
		{"one takes some", []int64{3, 2}, nil, 3, 0},
		{"one takes all", []int64{3, 0}, nil, 2, 0},
		{"always", []int64{9, 8, 7, 6, 5}, nil, 4, 6},
		{"no decision", []int64{3}, limit.ErrUnavailable, 2, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, at := &asked{}, 0
			a.answer = func(limit.Request) limit.Result {
				if at++; at <= len(tt.left) {
					return decision(false, tt.left[at-1])
				}
				if tt.err != nil {
					return limit.Result{Err: tt.err}
				}
				return decision(true, 0)
			}
			got := ask(t, door(t, Config{Limiter: a}).service, of("a", 10, drainFlag))[0]
			if got.GetStatus() != over || got.GetError() != "" || got.GetRemaining() != tt.remaining || len(a.calls) != tt.calls {
				t.Errorf("%v after %q", got, a.calls)
			}
		})
	}
}

// TestNoDecision has each error of a decider be that of the item.
func TestNoDecision(t *testing.T) {
	lost := errors.New("lost")
	for _, tt := range []struct {
		name string
		a    *asked
		item *gubernatorpb.RateLimitReq
		want string
	}{
		{"check", &asked{answer: func(limit.Request) limit.Result { return limit.Result{Err: limit.ErrUnavailable} }}, of("k", 1, 0), `while deciding rate limit "n_k": no decision available`},
		{"reset", &asked{answer: allowed, reset: lost}, of("k", 1, resetFlag), `while deciding rate limit "n_k": lost`},
		{"field", &asked{answer: func(limit.Request) limit.Result {
			return limit.Result{Err: &limit.FieldError{Field: "limits[0].window", Problem: "is wrong"}}
		}}, of("k", 1, 0), "field 'duration': is wrong"},
		{"other field", &asked{answer: func(limit.Request) limit.Result {
			return limit.Result{Err: &limit.FieldError{Field: "key", Problem: "is wrong"}}
		}}, of("k", 1, 0), "key: is wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(t, door(t, Config{Limiter: tt.a}).service, tt.item)[0]
			if got.GetError() != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

// TestOrderOfOneKey has a real decider agree that items of one key see those before them, and not those behind.
func TestOrderOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := ask(t, newDoor(t, noLimits),
			of("a", 4, 0), of("a", 9, drainFlag), of("a", 1, 0), of("b", 3, 0), of("a", 7, resetFlag), of("a", 2, 0), of("b", 0, resetFlag), of("b", 1, drainFlag))
		want := []struct {
			status    gubernatorpb.Status
			remaining int64
		}{{under, 6}, {over, 0}, {over, 0}, {under, 7}, {under, 10}, {under, 8}, {under, 10}, {under, 9}}
		for i, w := range want {
			if got[i].GetStatus() != w.status || got[i].GetRemaining() != w.remaining || got[i].GetError() != "" {
				t.Errorf("item %d: %v, want %v and %d", i, got[i], w.status, w.remaining)
			}
		}
	})
}

// TestTheCallersDeadline has a call keep its own.
func TestTheCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left time.Duration
		a := &asked{answer: allowed}
		s := door(t, Config{Limiter: deadline{a, &left}}).service
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		for ctx, want := range map[context.Context]time.Duration{t.Context(): time.Second, ctx: 7 * time.Second} {
			if _, err := s.GetRateLimits(ctx, &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{of("k", 1, 0)}}); err != nil || left != want {
				t.Errorf("%v are left, want %v: %v", left, want, err)
			}
		}
	})
}

// deadline notes how much time there is.
type deadline struct {
	limit.Limiter

	left *time.Duration
}

func (d deadline) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	at, _ := ctx.Deadline()
	*d.left = time.Until(at)
	return d.Limiter.CheckBatch(ctx, rs)
}
