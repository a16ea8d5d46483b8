package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/fallback"
)

const forwarding = "forward_auth: {}\n"

// forward asks as a proxy on this machine does.
func (r *rig) forward(target string, headers ...string) answer {
	r.Helper()
	w := httptest.NewRecorder()
	r.gateway.ForwardAuth().ServeHTTP(w, request(r.T, http.MethodGet, target, append([]string{"From: 127.0.0.1:4000"}, headers...)...))
	return answerOf(w)
}

func TestForwardAuth(t *testing.T) {
	r := newRig(t, forwarding+`
routes:
- {name: login, methods: [POST], hosts: [www.example.com], path: /login, checks: [{limits: [two]}]}
`)
	ask := func(headers ...string) int { return r.forward("/auth", headers...).StatusCode }
	login := []string{"X-Forwarded-Method: POST", "X-Forwarded-Host: www.example.com", "X-Forwarded-Uri: /login?next=/", "X-Forwarded-For: 198.51.100.1"}
	for i, want := range []int{200, 200, 429} {
		if got := ask(login...); got != want {
			t.Errorf("request %d: %d, want %d", i+1, got, want)
		}
	}
	for what, headers := range map[string][]string{
		"another method":  {"X-Forwarded-Method: GET", login[1], login[2], login[3]},
		"another host":    {login[0], "X-Forwarded-Host: api.example.com", login[2], login[3]},
		"another path":    {login[0], login[1], "X-Forwarded-Uri: /", login[3]},
		"another address": {login[0], login[1], login[2], "X-Forwarded-For: 198.51.100.2"},
	} {
		if got := ask(headers...); got != 200 {
			t.Errorf("%s: %d", what, got)
		}
	}
	// What the client forged stands before what the proxy says.
	if got := ask(login[0], login[1], login[2], "X-Forwarded-For: 10.9.8.7, 198.51.100.1"); got != 429 {
		t.Errorf("a forged address goes around the limit: %d", got)
	}
	if got := ask(login[0], login[1], login[2], "X-Forwarded-For: 10.9.8.7", "X-Forwarded-For: 198.51.100.1"); got != 429 {
		t.Errorf("an address in a line of its own goes around the limit: %d", got)
	}
	for what, headers := range map[string][]string{
		"no path":      {login[0], login[1], login[3]},
		"no address":   login[:3],
		"no addresses": {login[0], login[1], login[2], "X-Forwarded-For: unknown"},
		"dot segments": {login[0], login[1], "X-Forwarded-Uri: /a/../login", login[3]},
	} {
		if got := ask(headers...); got != 400 {
			t.Errorf("%s: %d, want 400", what, got)
		}
	}
	if got := r.forward("/other").StatusCode; got != http.StatusNotFound {
		t.Error(got)
	}
}

// nginx can carry 403 only, and then asks for the answer to send.
func TestForwardAuthOfNginx(t *testing.T) {
	r := newRig(t, forwarding+oneRoute("{limits: [two]}"))
	headers := []string{"X-Original-Method: GET", "X-Original-Uri: /v1/items", "X-Forwarded-For: 198.51.100.1"}
	var id string
	for i, want := range []int{200, 200, 403} {
		a := r.forward("/auth?deny=403", headers...)
		if a.StatusCode != want || a.Header.Get("RateLimit-Policy") == "" {
			t.Errorf("request %d: %s, %v", i+1, a.Status, a.Header)
		}
		id = a.Header.Get("X-Jeton-Denial")
		if (id != "") != (want == 403) {
			t.Errorf("request %d: id %q", i+1, id)
		}
	}
	a := r.forward("/denied/" + id)
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "60" || a.Header.Get("RateLimit") == "" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	if p := problem(t, a); p["instance"] != "urn:jeton:denial:"+id {
		t.Errorf("%v", p)
	}
	another := "a"
	if strings.HasSuffix(id, another) {
		another = "b"
	}
	if got := r.forward("/denied/" + id[:len(id)-1] + another).StatusCode; got != http.StatusNotFound {
		t.Errorf("a wrong id: %d", got)
	}
	r.breakDown(limit.ErrUnavailable)
	r.unknown.Store(true)
	r.pass(fallback.MaxKnown)
	a = r.forward("/auth?deny=403", headers...)
	if a.StatusCode != http.StatusForbidden {
		t.Fatal(a.Status)
	}
	if again := r.forward("/denied/" + a.Header.Get("X-Jeton-Denial")); again.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a decision: %s", again.Status)
	}
	// What has no place in the memory otherwise can be asked for too.
	a = r.forward("/auth?deny=403")
	if again := r.forward("/denied/" + a.Header.Get("X-Jeton-Denial")); a.StatusCode != http.StatusForbidden || again.StatusCode != http.StatusBadRequest {
		t.Errorf("%s, %s", a.Status, again.Status)
	}
}

// What a proxy passes on to the client as it is has nothing in it that is for the proxy alone.
func TestForwardAuthTellsClientsNoMore(t *testing.T) {
	r := newRig(t, forwarding+oneRoute("{limits: [strict]}")+"answer: {body: 'no'}\n")
	headers := []string{"X-Original-Uri: /", "X-Forwarded-For: 198.51.100.1"}
	if a := r.forward("/auth", headers...); a.StatusCode != http.StatusOK || a.Header.Get("X-Jeton-Denial") != "" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	a := r.forward("/auth", headers...)
	if _, told := a.Header["X-Jeton-Denial"]; told || a.StatusCode != http.StatusTooManyRequests || string(a.Body) != "no" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
}

func TestForwardAuthAnswersOnlyProxies(t *testing.T) {
	headers := []string{"X-Original-Uri: /", "X-Forwarded-For: 198.51.100.1"}
	r := newRig(t, forwarding+oneRoute("{limits: [two]}"))
	a := r.forward("/auth", append(headers, "From: 192.0.2.7:1")...)
	if a.StatusCode != http.StatusForbidden || a.Header.Get("X-Jeton-Denial") != "" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	if got := r.remaining("ip:198.51.100.1", "two"); got != 2 {
		t.Error("somebody was charged")
	}
	trusting := newRig(t, "forward_auth: {trusted: [192.0.2.0/24]}\n"+oneRoute("{limits: [two]}"))
	if got := trusting.forward("/auth", append(headers, "From: 192.0.2.7:1")...).StatusCode; got != http.StatusOK {
		t.Error(got)
	}
	if got := trusting.forward("/auth", headers...).StatusCode; got != 403 {
		t.Error(got)
	}
	without := newRig(t, oneRoute("{limits: [two]}"))
	if got := without.forward("/auth", headers...).StatusCode; got != 403 {
		t.Errorf("a document without forward_auth: %d", got)
	}
}

// A proxy in front of the asking proxy is believed by identity.trusted_proxies.
func TestForwardAuthBehindAnotherProxy(t *testing.T) {
	r := newRig(t, forwarding+"identity: {trusted_proxies: [10.0.0.0/8]}\n"+oneRoute("{limits: [two]}"))
	for i, want := range []int{200, 200, 429} {
		got := r.forward("/auth", "X-Original-Uri: /", "X-Forwarded-For: 9.9.9.9, 198.51.100.1, 10.0.0.1").StatusCode
		if got != want {
			t.Errorf("request %d: %d, want %d", i+1, got, want)
		}
	}
	if got := r.remaining("ip:198.51.100.1", "two"); got != 0 {
		t.Errorf("%d left", got)
	}
	if strings.Contains(r.logs.String(), "9.9.9.9") {
		t.Error("the forged address counts")
	}
}

// Envoy's ext_authz over HTTP, and the ExternalAuth filter of the Gateway API, ask with the line of the request itself, behind a prefix.
func TestForwardAuthByPrefix(t *testing.T) {
	r := newRig(t, forwarding+`
identity: {trusted_proxies: [10.0.0.0/8]}
routes:
- {name: login, methods: [POST], hosts: [www.example.com], path: /login, checks: [{limits: [two]}]}
- {name: all, path: /, checks: [{limits: [hundred]}]}
`)
	ask := func(method, target string, headers ...string) answer {
		w := httptest.NewRecorder()
		q := request(t, method, target, append([]string{"From: 127.0.0.1:4000"}, headers...)...)
		q.Host = "www.example.com"
		r.gateway.ForwardAuth().ServeHTTP(w, q)
		return answerOf(w)
	}
	const client = "X-Forwarded-For: 198.51.100.1"
	for i, want := range []int{200, 200, 429} {
		if got := ask("POST", "/auth/login?next=/&deny=403", client).StatusCode; got != want {
			t.Errorf("request %d: %d, want %d", i+1, got, want)
		}
	}
	// Envoy adds its own address behind that of the client.
	if got := ask("POST", "/auth/login", client+",10.0.0.1").StatusCode; got != 429 {
		t.Errorf("behind Envoy's own address: %d", got)
	}
	// The parameter that nginx asks with is one of the client's here.
	if a := ask("POST", "/auth/login?deny=403", client); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("X-Jeton-Denial") != "" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	for what, headers := range map[string][]string{
		"the same method": {client, "X-Forwarded-Method: POST"}, "the same host": {client, "X-Forwarded-Host: www.example.com"},
		"the same path": {client, "X-Forwarded-Uri: /login", "X-Original-Url: https://www.example.com/login"},
	} {
		if got := ask("POST", "/auth/login", headers...).StatusCode; got != 429 {
			t.Errorf("%s: %d", what, got)
		}
	}
	for what, headers := range map[string][]string{
		"another method": {client, "X-Forwarded-Method: GET"}, "another host": {client, "X-Forwarded-Host: api.example.com"},
		"another path": {client, "X-Forwarded-Uri: /free"}, "another URL": {client, "X-Original-Url: https://api.example.com/login"}, "no address": nil,
	} {
		if got := ask("POST", "/auth/login", headers...).StatusCode; got != 400 {
			t.Errorf("%s: %d, want 400", what, got)
		}
	}
	for target, want := range map[string]int{
		"/auth/": 200, "/auth/logout": 200, "/auth/auth": 200, "/auth/caf%C3%A9?a=%2F": 200, "/auth//login": 400, "/auth/a/../login": 400, "/auth/a%2Flogin": 400,
		"/auth/%ff": 400, "/auth%2Flogin": 404, "/authlogin": 404, "/AUTH/login": 404,
	} {
		if got := ask("POST", target, client).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
}

// What the asking proxy says in a header counts, and so does what it says nothing of: it must take such headers of clients away.
func TestForwardAuthOfAScoringProxy(t *testing.T) {
	r := newRig(t, forwarding+oneRoute("{limits: [hundred], choose: {by: proxy_header.X-Bot-Score, when: [{below: 30, limits: [two]}]}}"))
	headers := []string{"X-Original-Uri: /", "X-Forwarded-For: 198.51.100.1"}
	for i, want := range []int{200, 200, 429} {
		if got := r.forward("/auth", append(headers, "X-Bot-Score: 3")...).StatusCode; got != want {
			t.Errorf("request %d: %d, want %d", i+1, got, want)
		}
	}
	if got := r.forward("/auth", append(headers, "X-Bot-Score: 80")...).StatusCode; got != http.StatusOK {
		t.Error(got)
	}
}
