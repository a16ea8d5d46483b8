package extauthz_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
)

// The document of a gateway decides: by method, host, path and address; and clients get its fields and its denial.
func TestTheDocumentDecides(t *testing.T) {
	r := newRig(t, `
forward_auth: {}
routes:
- {name: login, methods: [POST], hosts: [www.example.com], path: /login, checks: [{limits: [two]}]}
`)
	c := r.client()
	login := ask("POST /login?next=/")
	for i := range 2 {
		a := asks(t, c, login)
		if a.status != 200 || a.header.Get("RateLimit-Policy") != `"two";q=2;w=120` || a.header.Get("RateLimit") == "" || a.remove != nil {
			t.Errorf("request %d: %+v", i+1, a)
		}
	}
	a := asks(t, c, login)
	if a.status != 429 || a.header.Get("Retry-After") != "60" || a.header.Get("RateLimit") == "" || a.header.Get("Content-Length") != "" {
		t.Errorf("%+v", a)
	}
	var problem struct {
		Status   int      `json:"status"`
		Violated []string `json:"violated-policies"`
		Instance string   `json:"instance"`
	}
	if err := json.Unmarshal([]byte(a.body), &problem); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%v: %+v", err, a)
	}
	if problem.Status != 429 || !slices.Equal(problem.Violated, []string{"two"}) || !strings.HasPrefix(problem.Instance, "urn:jeton:denial:") {
		t.Errorf("%+v", problem)
	}
	for what, other := range map[string]*authv3.CheckRequest{
		"another method":   ask("GET /login"),
		"another host":     ask("POST /login", "Host: api.example.com"),
		"another path":     ask("POST /logout"),
		"another address":  ask("POST /login", "From: 198.51.100.2"),
		"an IPv6 address":  ask("POST /login", "From: 2001:db8::1"),
		"merged headers":   merged(ask("POST /login", "From: 198.51.100.3")),
		"one with a scope": ask("POST /login", "From: fe80::1%eth0"),
	} {
		if a := asks(t, c, other); a.status != 200 {
			t.Errorf("%s: %+v", what, a)
		}
	}
	wants(t, c, ask("POST /login", "From: ::ffff:198.51.100.1"), 429)
}

// Of several checks, the one that denies gives back what the others took. A shadow check denies nothing.
func TestSeveralLimits(t *testing.T) {
	r := newRig(t, oneRoute(`{limits: [ten]}, {key: ["all"], limits: [five]}, {limits: [two], key: ["shadow"], shadow: true}`))
	c := r.client()
	wants(t, c, ask("GET /"), 200, 200, 200, 200, 200, 429, 429)
	for range 2 {
		<-r.returned
	}
	if got := r.remaining("ip:198.51.100.1", "ten"); got != 5 {
		t.Errorf("%d tokens are left, want 5", got)
	}
	a := asks(t, c, ask("GET /", "From: 198.51.100.2"))
	if got := a.header.Get("RateLimit-Policy"); a.status != 429 || got != `"ten";q=10;w=10, "five";q=5;w=18000` {
		t.Errorf("%d, %s", a.status, got)
	}
}

// What the document says of answers holds here: another status, a body, a redirect, the fields, whose pages may read them.
func TestAnswersOfTheDocument(t *testing.T) {
	r := newRig(t, `
forward_auth: {}
answer: {headers: [ratelimit, x-ratelimit], debug: true}
cors: {origins: ["https://app.example.com"]}
routes:
- {name: tea, path: /tea, checks: [{limits: [two]}], answer: {status: 420, body: "<p>{{.Route}}: {{.RetryAfter}} s</p>", content_type: text/html}}
- {name: moved, path: /moved, checks: [{limits: [two]}], answer: {redirect: "https://example.com/slow?{route}"}}
- {name: other, path: /, checks: [{limits: [ten]}]}
`)
	c := r.client()
	wants(t, c, ask("GET /tea"), 200, 200)
	a := asks(t, c, ask("GET /tea", "Origin: https://app.example.com"))
	if a.status != 420 || a.body != "<p>tea: 60 s</p>" || a.header.Get("Content-Type") != "text/html" {
		t.Errorf("%+v", a)
	}
	if a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || a.header.Get("Vary") != "Origin" {
		t.Errorf("%+v", a.header)
	}
	wants(t, c, ask("GET /moved"), 303)
	if a := asks(t, c, ask("GET /moved")); a.header.Get("Location") != "https://example.com/slow?moved" || a.body != "" {
		t.Errorf("%+v", a)
	}
	a = asks(t, c, ask("GET /"))
	if a.header.Get("X-RateLimit-Limit") != "10" || a.header.Get("X-RateLimit-Reset") == "" || !strings.Contains(a.header.Get("X-Jeton-Decision"), "node-1") {
		t.Errorf("%+v", a.header)
	}
}

// Identities are those of the document: API keys, cookies, addresses that trusted proxies tell, lists of networks and paths.
func TestIdentities(t *testing.T) {
	r := newRig(t, `
forward_auth: {}
identity:
  key: ["key:{api_key}", "session:{cookie.session}", "ip:{ip}"]
  trusted_proxies: [10.0.0.0/8]
  api_key: {any: true, secret_file: secret}
deny: {networks: [203.0.113.0/24]}
exempt: {paths: [/health], token_file: tokens}
routes: [{name: all, path: /, checks: [{limits: [two]}]}]
`)
	c := r.client()
	wants(t, c, ask("GET /", "X-Api-Key: one"), 200, 200, 429)
	wants(t, c, ask("GET /", "X-Api-Key: two"), 200)
	wants(t, c, ask("GET /", "Cookie: a=b; session=1"), 200, 200, 429)
	wants(t, c, ask("GET /", "Cookie: session=2"), 200)
	wants(t, c, ask("GET /", "From: 203.0.113.9"), 403)
	wants(t, c, ask("GET /health"), 200, 200, 200)
	wants(t, c, ask("GET /", "X-Internal-Token: an-internal-token-of-ours"), 200, 200, 200)
	wants(t, c, ask("GET /", "From: 10.0.0.1", "X-Forwarded-For: 192.0.2.9"), 200, 200, 429)
	// Envoy with use_remote_address has added the peer's address itself: that changes nothing.
	wants(t, c, ask("GET /", "From: 10.0.0.1", "X-Forwarded-For: 192.0.2.9,10.0.0.1"), 429)
	wants(t, c, merged(ask("GET /", "From: 10.0.0.1", "X-Forwarded-For: 192.0.2.9, 10.0.0.1")), 429)
}

// Without a decision the document's fallback answers: 503 is a denial with its fields, and no error of the call.
func TestUnavailable(t *testing.T) {
	r := newRig(t, oneRoute(`{limits: [strict]}`))
	c := r.client()
	r.down.Store(true)
	a := asks(t, c, ask("GET /"))
	if a.status != 503 || a.header.Get("Retry-After") == "" || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%+v", a)
	}
	r = newRig(t, oneRoute(`{limits: [two]}`))
	r.down.Store(true)
	wants(t, r.client(), ask("GET /"), 200)
}

// Only the proxies in forward_auth.trusted may ask: it is the other end of the gRPC connection that counts.
func TestOnlyProxiesMayAsk(t *testing.T) {
	r := newRig(t, "forward_auth: {trusted: [192.0.2.0/24]}\n"+strings.TrimPrefix(oneRoute(`{limits: [two]}`), "forward_auth: {}\n"))
	a := asks(t, r.client(), ask("GET /", "X-Forwarded-For: 192.0.2.1", "From: 192.0.2.1"))
	if a.status != 403 || !strings.Contains(a.body, "forward_auth.trusted") {
		t.Errorf("%+v", a)
	}
	if got := r.remaining("ip:192.0.2.1", "two"); got != 2 {
		t.Error("somebody was charged")
	}
	d, err := extauthz.New(extauthz.Config{Handler: newRig(t, oneRoute(`{limits: [two]}`)).gateway.ForwardAuth()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Check(t.Context(), ask("GET /")) // which no connection has brought
	if err != nil || read(t, w).status != http.StatusForbidden {
		t.Errorf("%v, %v", w, err)
	}
}
