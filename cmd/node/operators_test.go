package node_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// operate asks the node for something with its token.
func (l limitsOverHTTP) operate(method, path, body string) (status int, text string) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), method, strings.TrimSuffix(l.url, "/v1/limits")+path, strings.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		l.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		l.Fatal(err)
	}
	return res.StatusCode, string(got)
}

// want says what must come of it.
func (l limitsOverHTTP) want(method, path, body string, status int, says string) {
	l.Helper()
	if got, text := l.operate(method, path, body); got != status || !strings.Contains(text, says) {
		l.Errorf("%s %s %s: %d %s, want %d %s", method, path, body, got, text, status, says)
	}
}

// What operators do over HTTP counts for the next check, and is in the audit log.
func TestOperatorsOverHTTP(t *testing.T) {
	l := newLimitsOverHTTP(t)
	const document, check = "limits: {demo: {capacity: 1, refill: 1/1h}}", `{"key":"user:42","limits":["demo"]}`
	l.want("PUT", "/v1/limits?dry_run=true", document, 200, `"added":["demo"]`)
	l.want("GET", "/v1/limits", "", 200, `"limits":{}`)
	l.want("PUT", "/v1/limits", document, 200, `"added":["demo"]`)
	l.want("PUT", "/v1/limits?dry_run=true", "limits: {other: {capacity: 1, refill: 1/1h}}", 200, `"removed":["demo"]`)
	l.want("PUT", "/v1/limits?dry_run=maybe", document, 400, "dry_run=true")

	l.want("POST", "/v1/check", check, 200, "")
	l.want("POST", "/v1/check", check, 429, "")
	l.want("POST", "/v1/fill", `{"limit":"demo","key":"user:42"}`, 204, "")
	l.want("POST", "/v1/check", check, 200, "")
	l.want("POST", "/v1/fill", `{"limit":"demi","key":"user:42"}`, 404, `did you mean \"demo\"`)

	l.want("PUT", "/v1/overrides", `{"limit":"demo","key":"user:42","says":"allow","for":"10m"}`, 204, "")
	l.want("POST", "/v1/check", check, 200, "")
	l.want("GET", "/v1/overrides", "", 200, `"says":"allow"`)
	l.want("PUT", "/v1/overrides", `{"limit":"demo","key":"user:42","says":"sometimes"}`, 400, "")
	l.want("DELETE", "/v1/overrides?limit=demo&key=user:42", "", 204, "")
	l.want("DELETE", "/v1/overrides?limit=demo&key=user:42", "", 404, "no override of")
	l.want("POST", "/v1/check", check, 429, "")

	_, log := l.operate("GET", "/v1/audit", "")
	for _, verb := range []string{`"fill"`, `"set override"`, `"unset override"`} {
		if !strings.Contains(log, verb) || !strings.Contains(log, "token of the data directory") {
			t.Errorf("the audit log has no %s by the token: %s", verb, log)
		}
	}
}
