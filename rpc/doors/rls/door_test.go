package rls_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// A turn is one request, some times, of which the first ones pass.
type turn struct {
	descriptors []string
	times, pass int
}

// What the pages of Envoy's service promise of its files holds.
func TestPromises(t *testing.T) {
	for name, c := range map[string]struct {
		rules string
		turns []turn
	}{
		"a limit for each value that is written": {
			`descriptors:
- {key: database, value: users, rate_limit: {unit: day, requests_per_unit: 2}}
- {key: database, value: default, rate_limit: {unit: day, requests_per_unit: 3}}
`, []turn{{[]string{"database=users"}, 3, 2}, {[]string{"database=default"}, 4, 3}, {[]string{"database=other"}, 5, 5}},
		},
		"a limit for each value that comes": {
			`descriptors:
- {key: kind, value: marketing, descriptors: [{key: number, rate_limit: {unit: day, requests_per_unit: 1}}]}
- {key: number, rate_limit: {unit: day, requests_per_unit: 3}}
`, []turn{
				{[]string{"kind=marketing number=1"}, 2, 1},
				{[]string{"kind=marketing number=2"}, 2, 1},
				{[]string{"number=1"}, 1, 1},
				{[]string{"kind=marketing number=3", "number=3"}, 2, 1},
				{[]string{"number=3"}, 3, 2}, // the request that was denied took nothing
			},
		},
		"the most specific match, and a black list": {
			`descriptors:
- {key: address, rate_limit: {unit: day, requests_per_unit: 2}}
- {key: address, value: 50.0.0.5, rate_limit: {unit: day, requests_per_unit: 0}}
`, []turn{{[]string{"address=50.0.0.1"}, 3, 2}, {[]string{"address=50.0.0.5"}, 2, 0}},
		},
		"the same depth": {
			`descriptors:
- {key: key, value: value, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: deep, value: value, descriptors: [{key: subkey, rate_limit: {unit: day, requests_per_unit: 1}}]}
`, []turn{{[]string{"key=value subkey=x"}, 3, 3}, {[]string{"deep=value subkey=x"}, 2, 1}, {[]string{"deep=value"}, 2, 2}},
		},
		"unlimited": {
			`descriptors:
- {key: ldap, rate_limit: {unlimited: true}}
- {key: azure, rate_limit: {unit: day, requests_per_unit: 1}}
`, []turn{{[]string{"ldap=1"}, 3, 3}, {[]string{"azure=1"}, 2, 1}},
		},
		"shadow mode": {
			`descriptors:
- key: service
  descriptors:
  - {key: user, value: a, rate_limit: {unit: day, requests_per_unit: 1}, shadow_mode: true}
  - {key: user, value: b, rate_limit: {unit: day, requests_per_unit: 1}}
`, []turn{{[]string{"service=auth user=a"}, 3, 3}, {[]string{"service=auth user=b"}, 2, 1}},
		},
		"replaces": {
			`descriptors:
- {key: a, value: 1, descriptors: [{key: user, value: u, rate_limit: {name: special, unit: day, requests_per_unit: 1}}]}
- {key: b, value: 1, descriptors: [{key: user, value: u, rate_limit: {replaces: [{name: special}], unit: day, requests_per_unit: 3}}]}
`, []turn{{[]string{"a=1 user=u", "b=1 user=u"}, 4, 3}, {[]string{"a=1 user=u"}, 2, 1}},
		},
		"an unlimited rule that replaces": {
			`descriptors:
- {key: a, rate_limit: {name: special, unit: day, requests_per_unit: 1}}
- {key: b, rate_limit: {replaces: [{name: special}], unlimited: true}}
`, []turn{{[]string{"a=1", "b=1"}, 4, 4}, {[]string{"a=1"}, 2, 1}},
		},
		"a pattern, each value by itself": {
			`descriptors: [{key: path, value: files/*, rate_limit: {unit: day, requests_per_unit: 1}}]
`, []turn{{[]string{"path=files/a"}, 2, 1}, {[]string{"path=files/b"}, 2, 1}, {[]string{"path=other"}, 2, 2}},
		},
		"a pattern, all together": {
			`descriptors: [{key: path, value: files/*, share_threshold: true, rate_limit: {unit: day, requests_per_unit: 2}}]
`, []turn{{[]string{"path=files/a"}, 1, 1}, {[]string{"path=files/b"}, 1, 1}, {[]string{"path=files/c"}, 1, 0}},
		},
		"a token bucket": {
			`descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 2, algorithm: token-bucket}}]
`, []turn{{[]string{"a=1"}, 3, 2}},
		},
		"two descriptors of one bucket": {
			`descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5}}]
`, []turn{{[]string{"a=1", "a=1"}, 3, 2}, {[]string{"a=1"}, 2, 1}},
		},
		"an unknown domain": {"domain: other\n", []turn{{[]string{"a=1"}, 2, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(c.rules, "domain:") {
				c.rules = "domain: d\n" + c.rules
			}
			r := ofRules(t, c.rules)
			for _, turn := range c.turns {
				for i := range turn.times {
					want := ok
					if i >= turn.pass {
						want = over
					}
					r.expect(want, request("d", turn.descriptors...))
				}
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	r := ofRules(t, `domain: d
descriptors:
- {key: a, rate_limit: {name: a-limit, unit: day, requests_per_unit: 2}}
- {key: b, rate_limit: {unit: day, unit_multiplier: 2, requests_per_unit: 10}}
- {key: free, rate_limit: {unlimited: true}}
- {key: none, rate_limit: {unit: hour, requests_per_unit: 0}}
`)
	answer := r.expect(ok, request("d", "free=1", "a=1", "unknown=1", "b=1"))
	if got := remaining(answer); !slices.Equal(got, []uint32{math.MaxUint32, 1, 0, 9}) {
		t.Errorf("remaining: %v", got)
	}
	s := answer.GetStatuses()
	if l := s[1].GetCurrentLimit(); l.GetName() != "a-limit" || l.GetRequestsPerUnit() != 2 || l.GetUnit() != ratelimitv3.RateLimitResponse_RateLimit_DAY || l.GetUnitMultiplier() != nil {
		t.Errorf("got %v", l)
	}
	if d := s[1].GetDurationUntilReset().AsDuration(); d <= 0 || d > 24*time.Hour {
		t.Errorf("the window of a day ends in %v", d)
	}
	if l := s[3].GetCurrentLimit(); l.GetUnitMultiplier().GetValue() != 2 {
		t.Errorf("got %v", l)
	}
	if s[0].GetCurrentLimit() != nil || s[2].GetCurrentLimit() != nil {
		t.Errorf("limits where there are none: %v", s)
	}

	// What was not charged because of a denial shows what it has.
	r.expect(ok, request("d", "a=1"))
	answer = r.expect(over, request("d", "b=1", "a=1", "b=2"))
	if got := remaining(answer); !slices.Equal(got, []uint32{9, 0, 10}) {
		t.Errorf("remaining: %v", got)
	}
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ok, over, ok} {
		if got := answer.GetStatuses()[i]; got.GetCode() != want || got.GetCurrentLimit() == nil {
			t.Errorf("status %d: got %v, want %v", i, got, want)
		}
	}
	if d := answer.GetStatuses()[1].GetDurationUntilReset().AsDuration(); d <= 0 || d > 24*time.Hour {
		t.Errorf("it is denied for %v", d)
	}

	answer = r.expect(over, request("d", "b=1", "none=1"))
	if got := answer.GetStatuses()[1]; got.GetCode() != over || got.GetDurationUntilReset().AsDuration() != time.Hour || answer.GetStatuses()[0].GetLimitRemaining() != 9 {
		t.Errorf("got %v", answer)
	}
}

func TestHits(t *testing.T) {
	r := ofRules(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 10}}]\n")
	left := func(want uint32, answer *ratelimitv3.RateLimitResponse) {
		t.Helper()
		if got := remaining(answer)[0]; got != want {
			t.Errorf("%d remain, want %d", got, want)
		}
	}
	four := request("d", "a=1")
	four.HitsAddend = 4
	left(6, r.expect(ok, four))
	left(6, r.expect(ok, hits(request("d", "a=1"), 0, 0)))
	left(3, r.expect(ok, hits(four, 0, 3)))                   // the descriptor's own number counts
	left(3, r.expect(over, hits(request("d", "a=1"), 0, 4)))  // and takes nothing
	left(3, r.expect(over, hits(request("d", "a=1"), 0, 11))) // it never fits
	left(3, r.expect(over, hits(request("d", "a=1"), 0, math.MaxInt64)))
	left(3, r.expect(ok, hits(request("d", "a=1"), 0, 0)))
	left(0, r.expect(ok, hits(request("d", "a=1"), 0, 3)))
	left(0, r.expect(over, hits(request("d", "a=1"), 0, 0))) // nothing is left

	// A look that finds nothing denies, and what stands beside it is not charged.
	left(10, r.expect(over, hits(request("d", "a=2", "a=1"), 1, 0)))
}

func TestShadow(t *testing.T) {
	r := ofRules(t, `domain: d
descriptors:
- {key: shadow, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 2}}
- {key: none, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 0}}
- {key: real, rate_limit: {unit: day, requests_per_unit: 3}}
`)
	for range 3 {
		answer := r.expect(ok, request("d", "shadow=1", "real=1", "none=1"))
		for _, s := range answer.GetStatuses() {
			if s.GetCode() != ok {
				t.Errorf("got %v", answer)
			}
		}
	}
	r.expect(over, request("d", "shadow=2", "real=1"))
	if got := remaining(r.expect(ok, hits(request("d", "shadow=2"), 0, 0)))[0]; got != 2 {
		t.Errorf("a request that was denied took of a shadow: %d remain", got)
	}
	for labels, want := range map[string]float64{
		"rule=d.shadow result=within": 2, "rule=d.shadow result=uncharged": 1, "rule=d.shadow result=shadow": 1, "rule=d.none result=shadow": 3, "rule=d.real result=over": 1, "rule=d.real result=within": 3,
	} {
		if got := r.count("jeton_door_rls_hits_total", labels); got != want {
			t.Errorf("%s: %v, want %v", labels, got, want)
		}
	}
}

// A shadow whose hits are charged always is charged as if it were real, and its looks deny nothing.
func TestShadowChargeAlways(t *testing.T) {
	r := ofRules(t, `domain: d
descriptors:
- {key: shadow, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 10, charge_always: true}}
- {key: none, rate_limit: {unit: day, requests_per_unit: 0}}
`)
	if got := remaining(r.expect(over, hits(request("d", "shadow=1", "none=1"), 0, 7)))[0]; got != 3 {
		t.Errorf("%d remain", got)
	}
	r.expect(ok, hits(request("d", "shadow=1"), 0, 7))
	r.expect(ok, hits(request("d", "shadow=1"), 0, 0))
	if got := remaining(r.expect(ok, request("d", "shadow=1")))[0]; got != 0 {
		t.Errorf("%d remain", got)
	}
}

func TestQuota(t *testing.T) {
	r := newRig(t, rls.Config{Limiter: openNode(t), Metadata: true, Directory: write(t, `domain: d
descriptors:
- {key: quota, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: real, rate_limit: {unit: day, requests_per_unit: 9}}
`)})
	fields := r.expect(ok, request("d", "real=1", "quota=1")).GetDynamicMetadata().GetFields()
	if fields["domain"].GetStringValue() != "d" || !fields["quotaModeEnabled"].GetBoolValue() || fields["quotaModeViolations"] != nil {
		t.Errorf("got %v", fields)
	}
	if entries := fields["descriptors"].GetListValue().GetValues()[1].GetStructValue().GetFields()["entries"].GetListValue().GetValues(); len(entries) != 1 || entries[0].GetStringValue() != "quota=1" {
		t.Errorf("got %v", entries)
	}
	fields = r.expect(ok, hits(request("d", "real=1", "quota=1"), 1, 2)).GetDynamicMetadata().GetFields()
	if v := fields["quotaModeViolations"].GetListValue().GetValues(); len(v) != 1 || v[0].GetNumberValue() != 1 {
		t.Errorf("got %v", fields)
	}
	fields = r.expect(ok, request("d", "real=1")).GetDynamicMetadata().GetFields()
	if fields["quotaModeEnabled"].GetBoolValue() {
		t.Errorf("got %v", fields)
	}
}

func override(r *ratelimitv3.RateLimitRequest, i int, n uint32, unit typev3.RateLimitUnit, times uint32) *ratelimitv3.RateLimitRequest {
	r.Descriptors[i].Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: unit}
	if times > 0 {
		r.Descriptors[i].Limit.UnitMultiplier = wrapperspb.UInt32(times)
	}
	return r
}

func TestOverride(t *testing.T) {
	r := ofRules(t, "domain: d\ndescriptors: [{key: a, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 100}}]\n")
	day := typev3.RateLimitUnit_DAY
	r.expect(ok, override(request("d", "a=1"), 0, 2, day, 0))
	answer := r.expect(ok, override(request("d", "a=1"), 0, 2, day, 0))
	if l := answer.GetStatuses()[0].GetCurrentLimit(); l.GetRequestsPerUnit() != 2 || l.GetUnit() != ratelimitv3.RateLimitResponse_RateLimit_DAY {
		t.Errorf("got %v", l)
	}
	r.expect(over, override(request("d", "a=1"), 0, 2, day, 0))
	r.expect(ok, override(request("d", "a=1"), 0, 2, day, 3)) // another period is another bucket
	r.expect(ok, override(request("d", "a=1"), 0, 2, typev3.RateLimitUnit_MONTH, 0))
	r.expect(ok, override(request("d", "b=1 c=2"), 0, 1, day, 0)) // no rule is needed
	r.expect(over, override(request("d", "b=1 c=2"), 0, 1, day, 0))
	r.expect(over, override(request("d", "c=1"), 0, 0, day, 0))
	r.expect(ok, override(request("elsewhere", "c=1"), 0, 0, day, 0)) // but the domain is
	// Two numbers for one bucket in one request: the smaller one counts.
	both := override(override(request("d", "e=1", "e=1"), 0, 3, day, 0), 1, 1, day, 0)
	r.expect(over, both)
}

func TestChargeAlways(t *testing.T) {
	r := ofRules(t, `domain: d
descriptors:
- {key: tokens, rate_limit: {unit: day, requests_per_unit: 100, charge_always: true}}
- {key: other, rate_limit: {unit: day, requests_per_unit: 10}}
`)
	r.expect(ok, hits(request("d", "tokens=1"), 0, 0))
	r.expect(ok, hits(request("d", "tokens=1"), 0, 60))
	r.expect(ok, hits(request("d", "tokens=1"), 0, 0))
	answer := r.expect(over, hits(request("d", "tokens=1", "other=1"), 0, 60)) // 40 are left, and are taken
	if got := remaining(answer); !slices.Equal(got, []uint32{0, 10}) {
		t.Errorf("remaining: %v", got)
	}
	r.expect(over, hits(request("d", "tokens=1"), 0, 0))
}

func TestRefunds(t *testing.T) {
	r := ofRules(t, `domain: d
descriptors:
- {key: a, rate_limit: {unit: day, requests_per_unit: 10, refunds: true}}
- {key: bucket, rate_limit: {unit: day, requests_per_unit: 10, algorithm: token-bucket, refunds: true}}
- {key: never, rate_limit: {unit: day, requests_per_unit: 10}}
`)
	left := func(want uint32, answer *ratelimitv3.RateLimitResponse) {
		t.Helper()
		if got := remaining(answer)[0]; got != want {
			t.Errorf("%d remain, want %d", got, want)
		}
	}
	for _, d := range []string{"a=1", "bucket=1"} {
		left(4, r.expect(ok, hits(request("d", d), 0, 6)))
		left(2, r.expect(ok, hits(request("d", d), 0, 2)))
		left(7, r.expect(ok, back(request("d", d), 5))) // the last two, and three of the six
		left(7, r.expect(ok, back(request("d", d), 5))) // of which no more is known
		r.expect(over, hits(request("d", d), 0, 8))
		left(0, r.expect(ok, hits(request("d", d), 0, 7)))
		left(7, r.expect(ok, back(request("d", d), 100)))
	}
	left(9, r.expect(ok, request("d", "never=1")))
	left(9, r.expect(ok, back(request("d", "never=1"), 1)))
	// Beside others, and where the others deny.
	r.expect(ok, request("d", "a=2", "a=3"))
	left(10, r.expect(ok, back(request("d", "a=2", "a=3"), 1)))
	left(8, r.expect(ok, hits(request("d", "a=3"), 0, 0)))
	if returned, lost := r.count("jeton_door_rls_refunds_total", "outcome=returned"), r.count("jeton_door_rls_refunds_total", "outcome=lost"); returned != 2*(5+7)+1 || lost != 2*(5+93)+1 {
		t.Errorf("%v returned, %v lost", returned, lost)
	}
}

func TestHeaders(t *testing.T) {
	rules := `domain: d
descriptors:
- {key: few, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: many, rate_limit: {unit: year, requests_per_unit: 100}}
`
	r := newRig(t, rls.Config{Limiter: openNode(t), Directory: write(t, rules), Headers: rls.Headers{Enabled: true, Reset: "x-reset"}})
	headers := func(answer *ratelimitv3.RateLimitResponse) map[string]string {
		all := map[string]string{}
		for _, h := range answer.GetResponseHeadersToAdd() {
			all[h.GetKey()] = h.GetValue()
		}
		return all
	}
	h := headers(r.expect(ok, request("d", "many=1", "few=1")))
	if h["RateLimit-Limit"] != "1" || h["RateLimit-Remaining"] != "0" || h["x-reset"] == "" || h["x-reset"] == "0" || len(h) != 3 {
		t.Errorf("got %v", h)
	}
	r.expect(ok, hits(request("d", "many=1"), 0, 99))
	if h = headers(r.expect(over, request("d", "many=2", "few=1"))); h["RateLimit-Limit"] != "1" {
		t.Errorf("got %v", h)
	}
	// Both deny: the longer wait is the one that counts.
	if h = headers(r.expect(over, request("d", "few=1", "many=1"))); h["RateLimit-Limit"] != "100" || h["RateLimit-Remaining"] != "0" {
		t.Errorf("got %v", h)
	}
	if h = headers(r.expect(ok, request("d", "none=1"))); len(h) != 0 {
		t.Errorf("got %v", h)
	}
	without := ofRules(t, rules)
	if h = headers(without.expect(ok, request("d", "few=1"))); len(h) != 0 {
		t.Errorf("got %v", h)
	}
}
