package rls_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls"
)

// noDecisions is a Limiter that cannot decide.
type noDecisions struct{ limit.Limiter }

func (noDecisions) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, errors.New("no node can be reached")
}

func TestJSON(t *testing.T) {
	directory := write(t, "domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: year, requests_per_unit: 1}}\n")
	door := newRig(t, rls.Config{Limiter: openNode(t), Directory: directory}).door
	blind := newRig(t, rls.Config{Limiter: noDecisions{openNode(t)}, Directory: directory}).door
	good := `{"domain": "d", "descriptors": [{"entries": [{"key": "k", "value": "v"}]}]}`
	for _, c := range []struct {
		door       *rls.Door
		body       string
		code       int
		kind, says string
	}{
		{door, good, http.StatusOK, "application/json", `"overallCode":"OK"`},
		{door, good, http.StatusTooManyRequests, "application/json", `"overallCode":"OVER_LIMIT"`},
		{door, `{"domain": "d"`, http.StatusBadRequest, "text/plain; charset=utf-8", "is no RateLimitRequest"},
		{door, `{"domain": "d", "nonsense": 1}`, http.StatusBadRequest, "text/plain; charset=utf-8", "nonsense"},
		{door, `{"domain": "", "descriptors": [{}]}`, http.StatusBadRequest, "text/plain; charset=utf-8", "domain must not be empty"},
		{door, `{"domain": "d"}`, http.StatusBadRequest, "text/plain; charset=utf-8", "descriptor list must not be empty"},
		{door, `"` + strings.Repeat("a", 1<<20) + `"`, http.StatusBadRequest, "text/plain; charset=utf-8", "more than 64 KiB"},
		{door, `{"domain": "d", "descriptors": [` + strings.TrimSuffix(strings.Repeat(`{},`, 11_000), ",") + `]}`, http.StatusBadRequest, "text/plain; charset=utf-8", "more than 10000 objects"},
		{door, strings.Repeat("[", 20_000), http.StatusBadRequest, "text/plain; charset=utf-8", "more than 10000 objects"},
		{blind, good, http.StatusInternalServerError, "text/plain; charset=utf-8", "no node can be reached"},
	} {
		w := httptest.NewRecorder()
		c.door.JSON().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/json", strings.NewReader(c.body)))
		body := strings.ReplaceAll(w.Body.String(), " ", "")
		if w.Code != c.code || w.Header().Get("Content-Type") != c.kind || !strings.Contains(body, strings.ReplaceAll(c.says, " ", "")) {
			t.Errorf("%.100s: %d %q %s", c.body, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

func TestDump(t *testing.T) {
	door := ofRules(t, "domain: d\ndescriptors:\n- key: k\n  value: v\n  shadow_mode: true\n  rate_limit: {unit: hour, requests_per_unit: 5}\n"+
		"  descriptors:\n  - {key: n, quota_mode: true, rate_limit: {unlimited: true}}\n").door
	if got, want := door.Dump(), "d.k_v: unit=HOUR requests_per_unit=5, shadow_mode: true, quota_mode: false\nd.k_v.n: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: true\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
