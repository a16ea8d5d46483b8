package rls_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

const small = "domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: 5}}\n- {key: shadow, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 5}}\n"

func repeat(n int, text string) (all []string) {
	for i := range n {
		all = append(all, text+strconv.Itoa(i))
	}
	return all
}

func TestInvalid(t *testing.T) {
	r := ofRules(t, small)
	day := typev3.RateLimitUnit_DAY
	long := "a=" + strings.Repeat("x", 1<<16+1)
	for name, c := range map[string]struct {
		request *ratelimitv3.RateLimitRequest
		want    string
	}{
		"no domain":         {request("", "a=1"), "domain: rate limit domain must not be empty"},
		"a long domain":     {request(strings.Repeat("d", 1<<16+1), "a=1"), "domain: 65537 bytes are too many"},
		"no descriptors":    {request("d"), "descriptors: rate limit descriptor list must not be empty"},
		"many descriptors":  {request("d", repeat(10_000, "b=")...), "descriptors: 10000 are too many: at most 1000 in a request, of which 16 may be charged"},
		"many limits":       {request("d", repeat(17, "a=")...), "descriptors: 17 limits are too many to be charged: at most 16"},
		"many entries":      {request("d", strings.Repeat("a=1 ", 101)), "descriptors[0].entries: 101 are too many: at most 100"},
		"a long value":      {request("d", "b=1", long), "descriptors[1].entries[0]: a key or a value has at most 65536 bytes"},
		"many hits":         {hits(request("d", "a=1"), 0, math.MaxUint64), "descriptors[0].hits_addend: 18446744073709551615 is too large: at most 9223372036854775807"},
		"many hits in all":  {hits(hits(request("d", "a=1", "a=1"), 0, math.MaxInt64), 1, 1), "descriptors[1].hits_addend: with those of the same bucket before it, the hits are too many"},
		"a limit, no unit":  {override(request("d", "a=1", "b=1"), 1, 5, 0, 0), "descriptors[1].limit.unit: is missing or unknown"},
		"an unknown unit":   {override(request("d", "a=1"), 0, 5, 77, 0), "descriptors[0].limit.unit: is missing or unknown"},
		"a long time":       {override(request("d", "a=1"), 0, 5, day, math.MaxUint32), "descriptors[0].limit.unit_multiplier: 4294967295 is too large: at most 366 with the unit day"},
		"too many a second": {override(request("d", "a=1"), 0, math.MaxUint32, typev3.RateLimitUnit_SECOND, 0), "descriptors[0].limit.requests_per_unit: 4294967295 is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.client.ShouldRateLimit(t.Context(), c.request)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if n := r.count("jeton_door_rls_requests_total", "answer=invalid"); n != 13 {
		t.Errorf("%v requests were counted as invalid", n)
	}
	// At the bounds: 16 limits, among 1,000 descriptors of which the others are not limited, or only observed.
	r.expect(ok, request("d", append(repeat(16, "a="), repeat(984, "b=")...)...))
	r.expect(ok, request("d", append(repeat(16, "a="), repeat(984, "shadow=")...)...))
}

// What the Limiter does not decide, the door does not.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want codes.Code
	}{
		"unavailable": {limit.ErrUnavailable, codes.Unavailable},
		"overloaded":  {limit.ErrOverloaded, codes.ResourceExhausted},
		"too late":    {context.DeadlineExceeded, codes.DeadlineExceeded},
		"given up":    {context.Canceled, codes.Canceled},
		"a stranger":  {limit.ErrUnauthenticated, codes.Unauthenticated},
		"a name":      {&limit.FieldError{Field: "limits[0].name", Problem: "is stored"}, codes.FailedPrecondition},
		"a bug":       {errors.New("bug"), codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			stub := conformance.Stub{
				OnCheck: func(context.Context, limit.Request) (limit.Decision, error) { return limit.Decision{}, c.err },
				OnAll:   func(context.Context, []limit.Request) (limit.AllDecision, error) { return limit.AllDecision{}, c.err },
			}
			r := newRig(t, rls.Config{Limiter: stub, Directory: write(t, small)})
			for _, request := range []*ratelimitv3.RateLimitRequest{request("d", "a=1"), request("d", "a=1", "a=2"), hits(request("d", "a=1"), 0, 0)} {
				if _, err := r.client.ShouldRateLimit(t.Context(), request); status.Code(err) != c.want {
					t.Errorf("%v: got %v, want %s", request, err, c.want)
				}
			}
			if n := r.count("jeton_door_rls_requests_total", "answer=failed"); n != 3 {
				t.Errorf("%v requests were counted as failed", n)
			}
			// What only observes, and what asks nobody, has its answer.
			answer := r.expect(ok, request("d", "shadow=1", "b=1"))
			if answer.GetStatuses()[0].GetCurrentLimit() != nil {
				t.Errorf("a limit that had no answer is shown: %v", answer)
			}
			if n := r.count("jeton_door_rls_unobserved_total", ""); n != 1 {
				t.Errorf("%v were counted as unobserved", n)
			}
		})
	}
}

// A denial without numbers is a denial, and one whose further questions fail stays one.
func TestDenialsStand(t *testing.T) {
	denies := limit.Decision{Limits: []limit.Outcome{{Name: "rls-day", Limit: 5, RetryAfter: time.Minute}}}
	stub := conformance.Stub{
		OnCheck: func(context.Context, limit.Request) (limit.Decision, error) { return limit.Decision{}, nil },
		OnAll: func(_ context.Context, rs []limit.Request) (limit.AllDecision, error) {
			a := limit.AllDecision{Decisions: make([]limit.Decision, len(rs))}
			a.Decisions[0] = denies
			return a, nil
		},
		OnBatch: func(_ context.Context, rs []limit.Request) []limit.Result {
			results := make([]limit.Result, len(rs))
			for i := range rs {
				results[i].Err = limit.ErrUnavailable
			}
			return results
		},
	}
	r := newRig(t, rls.Config{Limiter: stub, Directory: write(t, small)})
	r.expect(over, request("d", "a=1"))
	s := r.expect(over, request("d", "a=1", "a=2")).GetStatuses()
	if s[0].GetCode() != over || s[0].GetDurationUntilReset().AsDuration() != time.Minute || s[1].GetCode() != ok || s[1].GetCurrentLimit() != nil {
		t.Errorf("got %v", s)
	}
}

// The rest of a bucket of which others take meanwhile is asked for again.
func TestTheRestIsTaken(t *testing.T) {
	var asked []int64
	stub := conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		left := []int64{60, 40, 0}[len(asked)]
		asked = append(asked, r.Cost)
		o := limit.Outcome{Name: "rls-day", Allowed: left == 0, Limit: 100, Remaining: left}
		return limit.Decision{Allowed: o.Allowed, Limits: []limit.Outcome{o}}, nil
	}}
	r := newRig(t, rls.Config{Limiter: stub, Directory: write(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 100, charge_always: true}}]\n")})
	if answer := r.expect(over, hits(request("d", "a=1"), 0, 80)); remaining(answer)[0] != 0 || !slices.Equal(asked, []int64{80, 60, 40}) {
		t.Errorf("asked for %v: %v", asked, answer)
	}
}

// A call without a deadline has one, and the caller's is passed on.
func TestDeadline(t *testing.T) {
	var left time.Duration
	stub := conformance.Stub{OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
		at, _ := ctx.Deadline()
		left = time.Until(at)
		return limit.Decision{Allowed: true}, nil
	}}
	r := newRig(t, rls.Config{Limiter: stub, Directory: write(t, small)})
	if _, err := r.client.ShouldRateLimit(t.Context(), request("d", "a=1")); err != nil || left <= 0 || left > time.Second {
		t.Errorf("a call without a deadline has %v, %v", left, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := r.client.ShouldRateLimit(ctx, request("d", "a=1")); err != nil || left < 50*time.Second {
		t.Errorf("of a minute %v is left, %v", left, err)
	}
}
