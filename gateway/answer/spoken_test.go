package answer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
)

// counted is the outcome of a limit that counts something.
func counted(counts string, o limit.Outcome) answer.Quota {
	o.Name = counts
	return answer.Quota{Counts: counts, Outcome: o}
}

// ofMinute are limits that a request has passed, or, of tokens, not.
func ofMinute(allowed bool) []answer.Quota {
	tokens := limit.Outcome{Allowed: true, Limit: 10_000, Remaining: 8_500, ResetAfter: 9 * time.Second}
	if !allowed {
		tokens = limit.Outcome{Limit: 10_000, Remaining: 400, RetryAfter: 6600 * time.Millisecond, ResetAfter: 57600 * time.Millisecond}
	}
	return []answer.Quota{
		counted(config.CountsRequests, limit.Outcome{Allowed: true, Limit: 60, Remaining: 59, ResetAfter: time.Second}),
		counted(config.CountsTokens, tokens),
		counted(config.CountsMoney, limit.Outcome{Allowed: true, Limit: 1, Remaining: 1}),
		counted(config.CountsStreams, limit.Outcome{Allowed: true, Limit: 5, Remaining: 2}),
	}
}

// TestDialectsInDocs writes the examples of docs/headers.md.
func TestDialectsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/headers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{config.FormOpenAI, config.FormAnthropic} {
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		w, err := answer.New(config.Answer{Headers: []string{form}}, answer.Clock(func() time.Time { return at }))
		if err != nil {
			t.Fatal(err)
		}
		passed, refused := http.Header{}, httptest.NewRecorder()
		w.Tell(passed, ofMinute(true))
		w.Refuse(refused, &answer.Refusal{Quotas: ofMinute(false), ID: "edge-7-k3v9", Detail: "too many requests: the limit tpm is exhausted; try again in 7s"})
		refused.Header().Del("Content-Length")
		var body bytes.Buffer
		if err := json.Indent(&body, refused.Body.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			strings.ToLower(lines(passed)), fmt.Sprintf("HTTP/1.1 %d %s\n%s\n%s\n", refused.Code, http.StatusText(refused.Code), lines(refused.Header()), body.String()),
		} {
			if form == config.FormAnthropic {
				want = strings.ReplaceAll(want, "t03:", "T03:")
				want = strings.ReplaceAll(want, "z\n", "Z\n")
			}
			if !bytes.Contains(page, []byte("```\n"+want+"```")) {
				t.Errorf("docs/headers.md does not have\n```\n%s```", want)
			}
		}
	}
}

// TestRefusalsInDialect asks for what an SDK makes of each kind: whether it asks again, and the status.
func TestRefusalsInDialect(t *testing.T) {
	denies := func(counts string, after time.Duration, never bool) []answer.Quota {
		return []answer.Quota{counted(counts, limit.Outcome{Limit: 10, RetryAfter: after, Never: never})}
	}
	for _, c := range []struct {
		refusal answer.Refusal
		status  int
		code    any // of OpenAI
		retry   string
		again   bool
	}{
		{answer.Refusal{Quotas: denies(config.CountsTokens, 1500*time.Millisecond, false)}, 429, "rate_limit_exceeded", "1500", true},
		{answer.Refusal{Quotas: denies(config.CountsTokens, 2*time.Minute, false)}, 429, "rate_limit_exceeded", "120000", true},
		{answer.Refusal{Quotas: denies(config.CountsTokens, 3*time.Minute, false)}, 429, "insufficient_quota", "180000", false},
		{answer.Refusal{Quotas: denies(config.CountsTokens, 0, true)}, 429, "rate_limit_exceeded", "", false},
		{answer.Refusal{Quotas: denies(config.CountsMoney, time.Second, false)}, 429, "rate_limit_exceeded", "1000", true},
		{answer.Refusal{Kind: answer.OverBudget, Quotas: denies(config.CountsMoney, time.Hour, false)}, 403, "insufficient_quota", "", false},
		{answer.Refusal{Kind: answer.BadRequest, Param: "max_tokens"}, 400, nil, "", false},
		{answer.Refusal{Kind: answer.TooLarge}, 413, "request_too_large", "", false},
		{answer.Refusal{Kind: answer.Unavailable}, 503, nil, "1000", true},
		{answer.Refusal{Kind: answer.Unidentified}, 401, "invalid_api_key", "", false},
		{answer.Refusal{Kind: answer.BadGateway}, 502, "bad_gateway", "", true},
		{answer.Refusal{Kind: answer.GatewayTimeout}, 504, "timeout", "", true},
	} {
		for _, form := range []string{config.FormOpenAI, config.FormAnthropic} {
			rec := refuse(t, config.Answer{Headers: []string{form}}, &c.refusal)
			if rec.Code != c.status || rec.Header().Get("Retry-After-Ms") != c.retry || (rec.Header().Get("X-Should-Retry") == "") != c.again {
				t.Errorf("%s, %v: %d with %v", form, c.refusal, rec.Code, rec.Header())
			}
			var body struct {
				Error struct {
					Code  any
					Param any
				}
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
				t.Error(err)
			}
			if form == config.FormOpenAI && (body.Error.Code != c.code || (body.Error.Param != nil) != (c.refusal.Param != "")) {
				t.Errorf("%v: the body is %s", c.refusal, rec.Body)
			}
		}
	}
}

// TestStatusInDialect refuses for every reason with the status that the Writer says, whatever a document says beside the dialect.
func TestStatusInDialect(t *testing.T) {
	for _, form := range []string{config.FormOpenAI, config.FormAnthropic} {
		w := newWriter(t, config.Answer{Headers: []string{form}, Status: 430})
		for kind := answer.Exceeded; kind <= answer.OverBudget; kind++ {
			rec := httptest.NewRecorder()
			w.Refuse(rec, &answer.Refusal{Kind: kind})
			if want := w.Status(kind); rec.Code != want || want == 430 {
				t.Errorf("%s, %v: refused with %d, and the Writer says %d", form, kind, rec.Code, want)
			}
		}
	}
}
