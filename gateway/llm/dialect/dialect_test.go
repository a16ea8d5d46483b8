package dialect_test

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/gateway/llm/dialect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 2, 3, 12, 0, 0, 1, time.FixedZone("far", 3600))

func flat(h http.Header) map[string]string {
	m := map[string]string{}
	for name := range h {
		m[name] = h.Get(name)
	}
	return m
}

func TestNames(t *testing.T) {
	for _, d := range []dialect.Dialect{dialect.OpenAI, dialect.Anthropic} {
		if back, err := dialect.Parse(d.String()); err != nil || back != d {
			t.Errorf("%v is read as %v, %v", d, back, err)
		}
	}
	if _, err := dialect.Parse("google"); err == nil || dialect.Dialect(9).String() != "Dialect(9)" {
		t.Error("an unknown dialect is known")
	}
}

func TestSetHeaders(t *testing.T) {
	limits := []dialect.Limit{
		{Kind: dialect.Requests, Limit: 60, Remaining: 59, Reset: time.Second},
		{Kind: dialect.Tokens, Limit: 150_000, Remaining: 149_984, Reset: 6 * time.Minute},
		{Kind: dialect.Tokens, Limit: 5000, Remaining: 10, Reset: 119*time.Millisecond + 1},
		{Kind: dialect.Tokens, Limit: 1000, Remaining: 10, Reset: time.Millisecond},
		{Kind: dialect.InputTokens, Limit: 100, Remaining: 50},
		{Kind: dialect.OutputTokens, Limit: -1, Remaining: -1, Reset: -time.Second},
	}
	for _, c := range []struct {
		dialect dialect.Dialect
		limits  []dialect.Limit
		want    map[string]string
	}{
		{dialect.OpenAI, nil, map[string]string{}},
		{dialect.OpenAI, limits[:2], map[string]string{
			"X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Remaining-Requests": "59", "X-Ratelimit-Reset-Requests": "1s",
			"X-Ratelimit-Limit-Tokens": "150000", "X-Ratelimit-Remaining-Tokens": "149984", "X-Ratelimit-Reset-Tokens": "6m0s",
		}},
		{dialect.OpenAI, limits[1:5], map[string]string{
			"X-Ratelimit-Limit-Tokens": "5000", "X-Ratelimit-Remaining-Tokens": "10", "X-Ratelimit-Reset-Tokens": "120ms",
		}},
		{dialect.OpenAI, limits[4:], map[string]string{
			"X-Ratelimit-Limit-Tokens": "0", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "0s",
		}},
		{dialect.Anthropic, limits, map[string]string{
			"Anthropic-Ratelimit-Requests-Limit": "60", "Anthropic-Ratelimit-Requests-Remaining": "59", "Anthropic-Ratelimit-Requests-Reset": "2026-02-03T11:00:02Z",
			"Anthropic-Ratelimit-Tokens-Limit": "5000", "Anthropic-Ratelimit-Tokens-Remaining": "10", "Anthropic-Ratelimit-Tokens-Reset": "2026-02-03T11:00:01Z",
			"Anthropic-Ratelimit-Input-Tokens-Limit": "100", "Anthropic-Ratelimit-Input-Tokens-Remaining": "50", "Anthropic-Ratelimit-Input-Tokens-Reset": "2026-02-03T11:00:01Z",
			"Anthropic-Ratelimit-Output-Tokens-Limit": "0", "Anthropic-Ratelimit-Output-Tokens-Remaining": "0", "Anthropic-Ratelimit-Output-Tokens-Reset": "2026-02-03T11:00:01Z",
		}},
		{dialect.Anthropic, []dialect.Limit{{Kind: dialect.Requests, Limit: math.MaxInt64, Remaining: 1, Reset: 0}}, map[string]string{
			"Anthropic-Ratelimit-Requests-Limit": "9223372036854775807", "Anthropic-Ratelimit-Requests-Remaining": "1", "Anthropic-Ratelimit-Requests-Reset": "2026-02-03T11:00:01Z",
		}},
	} {
		h := http.Header{}
		c.dialect.SetHeaders(h, c.limits, noon)
		if got := flat(h); !maps.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.dialect, got, c.want)
		}
	}
	h := http.Header{}
	dialect.OpenAI.SetHeaders(h, []dialect.Limit{{Reset: math.MaxInt64}}, noon)
	if got := h.Get("X-Ratelimit-Reset-Requests"); got != time.Duration(math.MaxInt64).String() {
		t.Errorf("the longest reset is %s", got)
	}
}

func TestRefusal(t *testing.T) {
	for what, c := range map[string]struct {
		refusal           dialect.Refusal
		openAI, anthropic string
		headers           map[string]string // without the id
	}{
		"tokens": {
			dialect.Refusal{Kind: dialect.OutputTokens, Message: "too \"many\"", RetryAfter: 1500*time.Millisecond + 1, RequestID: "r-1"},
			`{"error":{"message":"too \"many\"","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
			`{"type":"error","error":{"type":"rate_limit_error","message":"too \"many\""},"request_id":"r-1"}`,
			map[string]string{"Retry-After": "2", "Retry-After-Ms": "1501"},
		},
		"requests": {
			dialect.Refusal{Kind: dialect.Requests, Message: "m", RetryAfter: time.Second},
			`{"error":{"message":"m","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			`{"type":"error","error":{"type":"rate_limit_error","message":"m"},"request_id":null}`,
			map[string]string{"Retry-After": "1", "Retry-After-Ms": "1000"},
		},
		"greater than the limit": {
			dialect.Refusal{Kind: dialect.Tokens, Message: "m", RetryAfter: time.Second, Never: true},
			`{"error":{"message":"m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
			`{"type":"error","error":{"type":"rate_limit_error","message":"m"},"request_id":null}`,
			map[string]string{"X-Should-Retry": "false"},
		},
		"a quota": {
			dialect.Refusal{Reason: dialect.QuotaUsed, Message: "m", RetryAfter: time.Hour},
			`{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			`{"type":"error","error":{"type":"rate_limit_error","message":"m"},"request_id":null}`,
			map[string]string{"Retry-After": "3600", "Retry-After-Ms": "3600000", "X-Should-Retry": "false"},
		},
		"money": {
			dialect.Refusal{Reason: dialect.BudgetUsed, Message: "m"},
			`{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			`{"type":"error","error":{"type":"permission_error","message":"m"},"request_id":null}`,
			map[string]string{"X-Should-Retry": "false"},
		},
		"invalid": {
			dialect.Refusal{Reason: dialect.Invalid, Message: "m", Param: "max_tokens"},
			`{"error":{"message":"m","type":"invalid_request_error","param":"max_tokens","code":null}}`,
			`{"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":null}`,
			map[string]string{"X-Should-Retry": "false"},
		},
		"too large": {
			dialect.Refusal{Reason: dialect.TooLarge, Message: "m"},
			`{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"request_too_large"}}`,
			`{"type":"error","error":{"type":"request_too_large","message":"m"},"request_id":null}`,
			map[string]string{"X-Should-Retry": "false"},
		},
		"no decision": {
			dialect.Refusal{Reason: dialect.Unavailable, Message: "m", RetryAfter: 1},
			`{"error":{"message":"m","type":"server_error","param":null,"code":null}}`,
			`{"type":"error","error":{"type":"api_error","message":"m"},"request_id":null}`,
			map[string]string{"Retry-After": "1", "Retry-After-Ms": "1"},
		},
	} {
		for d, want := range map[dialect.Dialect]string{dialect.OpenAI: c.openAI, dialect.Anthropic: c.anthropic} {
			h := http.Header{}
			d.SetRefusal(h, &c.refusal)
			if body := d.Body(&c.refusal); string(body) != want || !json.Valid(body) {
				t.Errorf("%s, %v: got %s, want %s", what, d, body, want)
			}
			headers := maps.Clone(c.headers)
			if c.refusal.RequestID != "" {
				headers[map[dialect.Dialect]string{dialect.OpenAI: "X-Request-Id", dialect.Anthropic: "Request-Id"}[d]] = c.refusal.RequestID
			}
			if got := flat(h); !maps.Equal(got, headers) {
				t.Errorf("%s, %v: got %v, want %v", what, d, got, headers)
			}
		}
	}
}
