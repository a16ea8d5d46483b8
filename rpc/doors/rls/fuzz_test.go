package rls_test

import (
	"context"
	"math"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// strict is a Limiter that reports requests which no node would take. It denies a cost of 7 and has no answer for one of 8.
func strict(t *testing.T) limit.Limiter {
	t.Helper()
	decide := func(r limit.Request) (limit.Decision, error) {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %s", r, err)
		}
		if r.Cost == 8 {
			return limit.Decision{}, limit.ErrUnavailable
		}
		o := limit.Outcome{Name: r.Limits[0].Name, Allowed: r.Cost != 7, Limit: r.Limits[0].Inline.Capacity, Remaining: 1}
		return limit.Decision{Allowed: o.Allowed, Limits: []limit.Outcome{o}}, nil
	}
	return conformance.Stub{
		OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) { return decide(r) },
		OnAll: func(_ context.Context, rs []limit.Request) (limit.AllDecision, error) {
			p, err := limit.PlanAll(rs)
			if err != nil {
				t.Errorf("%+v: %s", rs, err)
				return limit.AllDecision{}, err
			}
			var decided []limit.Decision
			for _, r := range p.Checks {
				d, err := decide(r)
				if err != nil {
					return limit.AllDecision{}, err
				}
				if decided = append(decided, d); !d.Allowed {
					break
				}
			}
			return p.Answer(decided), nil
		},
		OnReturn: func(_ context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
			if err := limit.ValidateReturn(key, len(receipts)); err != nil {
				t.Error(err)
			}
			return make([]bool, len(receipts)), nil
		},
	}
}

// FuzzShouldRateLimit holds that whatever Envoy may send gets an answer with a status for each descriptor, or an error that is its
// fault or the Limiter's, and that all that the Limiter is asked is valid.
func FuzzShouldRateLimit(f *testing.F) {
	directory := write(f, `domain: d
descriptors:
- {key: a, rate_limit: {unit: day, requests_per_unit: 5}, descriptors: [{key: b, value: b*, share_threshold: true, value_to_metric: true, rate_limit: {unit: day, requests_per_unit: 5, charge_always: true}}]}
- {key: b, detailed_metric: true, quota_mode: true, rate_limit: {unit: second, requests_per_unit: 5, algorithm: token-bucket, refunds: true}}
- {key: c, rate_limit: {unlimited: true, replaces: [{name: d}]}}
- {key: d, shadow_mode: true, rate_limit: {name: d, unit: day, requests_per_unit: 0}}
`)
	eight := request("d", "a=1", "a=2", "b=1", "c=", "d=1", "a=1 b=b")
	eight.HitsAddend = 8
	for _, r := range []*ratelimitv3.RateLimitRequest{
		{},
		request("d", ""), request("d", "a=1"), request("d", "a=1 b=bx", "a=1 b=by", "b=\x00", "c=", "d="), eight,
		hits(request("d", "a=1", "a=1", "a=2"), 0, math.MaxInt64), hits(request("d", "a=1", "a=2"), 1, 7), back(request("d", "b=1", "b=1"), 3), hits(request("d", "a=1"), 0, 0),
		override(override(request("d", "a=1", "a=1", "a=1"), 0, 3, typev3.RateLimitUnit_DAY, 0), 1, 2, typev3.RateLimitUnit_DAY, 1), override(request("d", "x="), 0, math.MaxUint32, typev3.RateLimitUnit_YEAR, 1),
	} {
		text, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r ratelimitv3.RateLimitRequest
		if proto.Unmarshal(text, &r) != nil {
			return
		}
		door, err := rls.New(rls.Config{Limiter: strict(t), Directory: directory, Metadata: true, Headers: rls.Headers{Enabled: true}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := direct(door).ShouldRateLimit(t.Context(), &r)
		if err != nil {
			if code := status.Code(err); code != codes.InvalidArgument && code != codes.Unavailable {
				t.Fatalf("%v: %v", &r, err)
			}
			return
		}
		if len(answer.GetStatuses()) != len(r.GetDescriptors()) {
			t.Fatalf("%v: %v", &r, answer)
		}
		denied := false
		for _, s := range answer.GetStatuses() {
			denied = denied || s.GetCode() == over
		}
		if denied != (answer.GetOverallCode() == over) {
			t.Fatalf("%v: %v", &r, answer)
		}
		if _, err := proto.Marshal(answer); err != nil {
			t.Fatalf("%v: %v", &r, err)
		}
	})
}
