package answer_test

import (
	"net/http"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
)

// What is shown of a check is what a gateway without settings answers.
func TestShown(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {login: {capacity: 10, refill: 1/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	login := ruleOf(t, "login", 10, "1/s")
	decided := func(spent int64) limit.Decision {
		q := after(login, spent, 1)
		return limit.Decision{Allowed: q.Allowed, Limits: []limit.Outcome{q.Outcome}}
	}
	status, h, err := answer.Shown(decided(6), doc, "k")
	if want := "\nRatelimit: \"login\";r=3;t=3\nRatelimit-Policy: \"login\";q=10;w=10\n"; err != nil || status != http.StatusOK || "\n"+lines(h) != want {
		t.Errorf("admitted: %d %s, %v, want %s", status, lines(h), err, want)
	}
	status, h, err = answer.Shown(decided(10), doc, "k")
	if err != nil || status != http.StatusTooManyRequests || h.Get("Retry-After") != "1" || h.Get("Ratelimit") != `"login";r=0;t=1` || h.Get("Content-Type") != "application/problem+json" {
		t.Errorf("denied: %d %s, %v", status, lines(h), err)
	}
	if _, h, err := answer.Shown(decided(6), nil, "k"); err != nil || h.Get("Ratelimit") != `"login";r=3` {
		t.Errorf("without the limits: %s, %v", lines(h), err)
	}
}
