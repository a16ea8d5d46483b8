package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/access"
)

const oneToken = "0123456789abcdef"

// newGuard stands before the handler of a node's HTTP port, and knows one token.
func newGuard(t *testing.T, next http.Handler, beyond bool) http.Handler {
	t.Helper()
	h, err := NewGuard(next, GuardConfig{
		Door: access.NodeHTTP, Beyond: beyond, Tokens: func(token string) (counts, exist bool) { return token == oneToken, true }, Where: "a token",
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What the API answers is behind the guard: with and without a token, on a port of its own machine and beyond.
func TestTheGuardOfTheAPI(t *testing.T) {
	const never, beyondOnly, always = 0, 1, 2 // where a token is needed
	for _, tt := range []struct {
		method, path, body string
		status             int // of who is let in
		needs              int
	}{
		{"POST", "/v1/check", `{"key":"k","limits":["demo"]}`, 200, never},
		{"GET", "/v1/check", "", 405, beyondOnly},
		{"POST", "/v1/return", `{"key":"k","receipts":[]}`, 200, never},
		{"GET", "/v1/limits", "", 200, never},
		{"PUT", "/v1/limits", "limits: {}", 405, always}, // of a node that is alone
		{"GET", "/v1/buckets/demo/k", "", 200, beyondOnly},
		{"HEAD", "/v1/buckets/demo/k", "", 200, beyondOnly},
		{"DELETE", "/v1/buckets/demo/k", "", 204, always},
		{"POST", "/v1/buckets/demo/k", "", 405, beyondOnly},
		{"OPTIONS", "/v1/check", "", 405, beyondOnly},
		{"GET", "/v1/buckets/", "", 400, beyondOnly},
		{"GET", "/v1/buckets/demo/a//../b", "", 200, beyondOnly},
		{"GET", "/v1/%62uckets/demo/k", "", 404, beyondOnly},
		{"DELETE", "//v1/buckets/demo/k", "", 404, beyondOnly},
		{"GET", "/v1/other", "", 404, beyondOnly},
	} {
		for _, beyond := range []bool{false, true} {
			for _, header := range []string{"", "Bearer wrong-wrong-wrong", "Bearer " + oneToken} {
				doc := conformance.NewDocument(t)
				api, err := NewAPI(APIConfig{Limiter: conformance.NewNoonModel(t), Limits: func() *limit.Document { return doc }})
				if err != nil {
					t.Fatal(err)
				}
				r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body))
				r.Host = "localhost:7702"
				if header != "" {
					r.Header.Set("Authorization", header)
				}
				w := httptest.NewRecorder()
				newGuard(t, api, beyond).ServeHTTP(w, r)
				want := tt.status
				if header != "Bearer "+oneToken && (tt.needs == always || tt.needs == beyondOnly && beyond) {
					want = http.StatusUnauthorized
				}
				if w.Code != want || (want == http.StatusUnauthorized) != (w.Header().Get("WWW-Authenticate") != "") {
					t.Errorf("%s %s, beyond %v, %q: %d, want %d: %s", tt.method, tt.path, beyond, header, w.Code, want, w.Body)
				}
			}
		}
	}
}

// A web page can make the browser of somebody on this machine send requests to a loopback port. None of them does anything,
// and what curl and programs send does.
func TestWebPagesMayNotAsk(t *testing.T) {
	const good, evil = "127.0.0.1:7702", "evil.example:7702"
	for _, tt := range []struct {
		what, method, path, host string
		headers                  []string
		local, beyond            bool // it gets through, on loopback and on a port for others
	}{
		{"curl", "POST", "/v1/check", good, nil, true, true},
		{"curl by name", "POST", "/v1/check", "localhost", nil, true, true},
		{"curl by IPv6", "POST", "/v1/check", "[::1]:7702", nil, true, true},
		{"HTTP/1.0", "POST", "/v1/check", "", nil, true, true},
		{"curl from elsewhere", "POST", "/v1/check", "a.example:7702", nil, false, true},
		{"a form of a page", "POST", "/v1/check", good, []string{"Origin: http://evil.example", "Content-Type: text/plain"}, false, false},
		{"a sandboxed page", "POST", "/v1/check", good, []string{"Origin: null"}, false, false},
		{"a page, says the browser", "POST", "/v1/return", good, []string{"Sec-Fetch-Site: cross-site"}, false, false},
		{"a page with a name that leads here", "POST", "/v1/check", evil, []string{"Origin: http://evil.example:7702", "Sec-Fetch-Site: same-origin"}, false, true},
		{"that page fills", "DELETE", "/v1/buckets/demo/k", evil, []string{"Origin: http://evil.example:7702"}, false, false},
		{"that page looks", "GET", "/v1/buckets/demo/k", evil, nil, false, false},
		{"a page that looks", "GET", "/v1/buckets/demo/k", good, []string{"Sec-Fetch-Site: cross-site"}, false, false},
		{"a page that has the node profiled", "GET", "/debug/pprof/trace", good, []string{"Sec-Fetch-Site: same-site"}, false, false},
		{"a page of another port looks", "HEAD", "/debug/actors", good, []string{"Origin: http://127.0.0.1:3000"}, false, false},
		{"a person looks", "GET", "/debug/ring", good, []string{"Sec-Fetch-Site: none"}, true, false},
		{"that page reads limits", "GET", "/v1/limits", evil, nil, false, true},
		{"a page changes limits", "PUT", "/v1/limits", good, []string{"Origin: http://evil.example"}, false, false},
		{"a page with a token", "PUT", "/v1/limits", evil, []string{"Origin: http://evil.example", "Authorization: Bearer " + oneToken}, true, true},
		{"a probe by another name", "GET", "/readyz", "a.example", nil, true, true},
		{"a page that probes", "GET", "/metrics", evil, []string{"Sec-Fetch-Site: cross-site"}, true, true},
		{"a long host", "POST", "/v1/check", strings.Repeat("a", 300), nil, false, true},
	} {
		for _, beyond := range []bool{false, true} {
			r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody)
			r.Host = tt.host
			for _, line := range tt.headers {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Set(name, value)
			}
			passed := false
			w := httptest.NewRecorder()
			newGuard(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }), beyond).ServeHTTP(w, r)
			if want := beyond && tt.beyond || !beyond && tt.local; passed != want {
				t.Errorf("%s, beyond %v: %d, it must get through: %v: %s", tt.what, beyond, w.Code, want, w.Body)
			}
			if !passed && w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized {
				t.Errorf("%s, beyond %v: %d", tt.what, beyond, w.Code)
			}
			if w.Body.Len() > 500 {
				t.Errorf("%s: %d bytes: %s", tt.what, w.Body.Len(), w.Body)
			}
		}
	}
}
