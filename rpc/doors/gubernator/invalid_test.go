package gubernator

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// TestWrongItems has the error of each item that can never be decided. One beside it is decided.
func TestWrongItems(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(m *gubernatorpb.RateLimitReq)
		begins string
	}{
		{"no key", func(m *gubernatorpb.RateLimitReq) { m.UniqueKey = "" }, "field 'unique_key' cannot be empty"},
		{"no name", func(m *gubernatorpb.RateLimitReq) { m.Name = "" }, "field 'namespace' cannot be empty"},
		{"neither", func(m *gubernatorpb.RateLimitReq) { m.Name, m.UniqueKey = "", "" }, "field 'unique_key' cannot be empty"},
		{"hits below 0", func(m *gubernatorpb.RateLimitReq) { m.Hits = -1 }, "field 'hits' cannot be negative: -1; hits are given back by the receipts"},
		{"fewest hits", func(m *gubernatorpb.RateLimitReq) { m.Hits = math.MinInt64 }, "field 'hits' cannot be negative: -9223372036854775808"},
		{"limit below 0", func(m *gubernatorpb.RateLimitReq) { m.Limit = -5 }, "field 'limit' cannot be negative: -5; 0 lets nothing pass"},
		{"limit above all", func(m *gubernatorpb.RateLimitReq) { m.Limit = math.MaxInt64 }, "field 'limit': 9223372036854775807 is too large: at most 1000000000000000"},
		{"limit of a log", func(m *gubernatorpb.RateLimitReq) { m.Limit, m.Duration = 1001, 59 }, "field 'limit' is too large for a duration below 60: 1001; give at most 1000"},
		{"duration below 0", func(m *gubernatorpb.RateLimitReq) { m.Duration = -1 }, "field 'duration' cannot be negative: -1; give milliseconds"},
		{"duration above all", func(m *gubernatorpb.RateLimitReq) { m.Duration = math.MaxInt64 }, "field 'duration' is too long: 9223372036854775807; give milliseconds, at most 1152921504606"},
		{"duration above a year", func(m *gubernatorpb.RateLimitReq) { m.Duration = 400 * day.Milliseconds() }, "field 'duration': an empty bucket of 10 takes 9600h0m0s to fill"},
		{"no window of the calendar", func(m *gubernatorpb.RateLimitReq) { m.Behavior, m.Duration = gregorianFlag, 6 }, "behavior DURATION_IS_GREGORIAN is set; but `Duration` is not a valid gregorian interval: 0 means minutes"},
		{"window of the calendar below 0", func(m *gubernatorpb.RateLimitReq) { m.Behavior, m.Duration = gregorianFlag, -1 }, "behavior DURATION_IS_GREGORIAN is set"},
		{"limit above a token a nanosecond", func(m *gubernatorpb.RateLimitReq) { m.Behavior, m.Duration, m.Limit = gregorianFlag, 0, 6e10+1 }, "field 'limit': 60000000001 is too large for a window of 1m"},
		{"unknown algorithm", func(m *gubernatorpb.RateLimitReq) { m.Algorithm = 7 }, "Invalid rate limit algorithm '7'"},
		{"burst below 0", func(m *gubernatorpb.RateLimitReq) { m.Algorithm, m.Burst = leaky, -1 }, "field 'burst' cannot be negative: -1; 0 means the limit"},
		{"leaks too fast", func(m *gubernatorpb.RateLimitReq) { m.Algorithm, m.Limit, m.Duration = leaky, 2e6, 1 }, "field 'limit': 2000000/ms is too fast"},
		{"leaks too slowly", func(m *gubernatorpb.RateLimitReq) {
			m.Algorithm, m.Burst, m.Limit, m.Duration = leaky, math.MaxInt64, 1, longest
		}, "field 'limit': at this refill an empty bucket takes more than 73 years"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newDoor(t, noLimits)
				good := func() *gubernatorpb.RateLimitReq {
					return &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: 1, Limit: 10, Duration: 1000}
				}
				wrong := good()
				tt.change(wrong)
				got := ask(t, s, good(), wrong, good())
				if e := got[1].GetError(); !strings.HasPrefix(e, tt.begins) {
					t.Errorf("the error is %q, want %q", e, tt.begins)
				}
				if got[0].GetRemaining() != 9 || got[2].GetRemaining() != 8 {
					t.Errorf("the items beside it: %v, %v", got[0], got[2])
				}
			})
		})
	}
}

func TestTooManyItems(t *testing.T) {
	s := newDoor(t, noLimits)
	_, err := s.GetRateLimits(t.Context(), &gubernatorpb.GetRateLimitsReq{Requests: make([]*gubernatorpb.RateLimitReq, gubernatorpb.MaxItems+1)})
	if status.Code(err) != codes.OutOfRange || status.Convert(err).Message() != "Requests.RateLimits list too large; max size is '1000'" {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Limiter is missing") {
		t.Errorf("without a Limiter: %v", err)
	}
}
