package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// say sends bytes to a server as they are.
func say(t *testing.T, url, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// hear is everything that a server answers until it closes the connection.
func hear(t *testing.T, url, text string) string {
	t.Helper()
	_, r := say(t, url, text)
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// An upgrade other than that of a WebSocket would be a tunnel for any number of requests.
func TestNoTunnels(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /, checks: [{limits: [two]}]}", "", upstream(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "upgrade %q, connection %q", r.Header.Get("Upgrade"), r.Header.Get("Connection"))
	}))
	got := hear(t, s.URL, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	if !strings.Contains(got, `upgrade "", connection ""`) {
		t.Error(got)
	}
	for _, q := range []string{"CONNECT example.com:443", "CONNECT /", "GET *"} {
		if got := hear(t, s.URL, q+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
			t.Errorf("%s: %s", q, got)
		}
	}
}

// HTTP/1.0 knows no Transfer-Encoding: where the body ends that has one, no two servers agree on, so nothing comes after it.
func TestNothingAfterHTTP10(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /}", "", upstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	for _, text := range []string{
		"POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
	} {
		got := hear(t, s.URL, text+"GET /smuggled HTTP/1.0\r\nHost: a\r\n\r\n")
		if !strings.HasSuffix(got, "/a") {
			t.Errorf("%q is answered\n%s", text, got)
		}
	}
}

// Spellings that a service may take for a path or method with a limit are not another path or method.
func TestSpellings(t *testing.T) {
	r := newRig(t, "exempt: {paths: [/free]}\n"+`
routes:
- {name: all, path: /, checks: [{limits: [hundred]}]}
- {name: login, path: /login, methods: [POST], checks: [{limits: [strict]}]}
`)
	post := func(method, path string) int {
		q := request(t, method, "/")
		q.URL.Path, q.URL.RawPath = strings.ReplaceAll(path, "%3b", ";"), path
		return r.ask(q).StatusCode
	}
	if got := post("POST", "/login"); got != http.StatusNoContent {
		t.Fatal(got)
	}
	for _, path := range []string{"/login", "/login/", "/login;x=1", "/login%3bx", "/login/;x", "/;x/login"} {
		if got := post("POST", path); got != http.StatusTooManyRequests && got != http.StatusBadRequest {
			t.Errorf("%s goes around the limit: %d", path, got)
		}
	}
	for _, method := range []string{"pOST", "post"} {
		if got := post(method, "/login"); got != http.StatusBadRequest {
			t.Errorf("%s: %d", method, got)
		}
	}
	if got := post("GET", "/free;x"); got != http.StatusBadRequest {
		t.Errorf("an exempt path with a parameter: %d", got)
	}
	if got := post("GET", "/other;x=1"); got != http.StatusNoContent {
		t.Errorf("a parameter that changes nothing: %d", got)
	}
}

// A second way to read a path or a method is harmless only where it meets the same rules.
func TestOtherReadings(t *testing.T) {
	r := newRig(t, "exempt: {paths: [/free]}\n"+`
routes:
- {name: all, path: /, checks: [{limits: [hundred]}]}
- {name: login, path: /login, methods: [POST], checks: [{limits: [strict]}]}
- {name: exact, path: /exact$, methods: [POST], checks: [{limits: [strict]}]}
- {name: user, path: "/users/{id}", checks: [{key: ["user:{path.id}"], limits: [hundred]}]}
`)
	for _, c := range []struct {
		method, path, override string
		want                   int
	}{
		{"GET", "/web/http://example.com/x", "", 204},
		{"GET", "/users/42//x", "", 204},
		{"GET", "/users/7/a;b", "", 204},
		{"POST", "/web", "DELETE", 204},
		{"GET", "//free", "", 400},
		{"GET", "/other//free", "", 204},
		{"GET", "/free//x", "", 204},
		{"GET", "/users//42", "", 400},
		{"GET", "/users/42;a", "", 400}, // a bucket for each parameter
		{"GET", "/users;a/42", "", 400},
		{"GET", "/login", "POST", 400},
		{"GET", "/login", "post", 400},
		{"POST", "/login", "GET", 400},
		{"GET", "/login;x", "POST", 400}, // to services that read both in another way
		{"GET", "/login//x", "POST", 400},
		{"GET", "/login;x//y", "POST", 400},
		{"POST", "/login;a//x", "", 400},
		{"POST", "/exact/;/x", "", 400}, // with an empty segment once the parameters are gone
		{"POST", "/exact;a/;/x", "", 400},
		{"POST", "/exact;a/x", "", 400}, // where the path ends at the semicolon
		{"POST", "/web", " ", 204},      // which tells no method
		{"POST", "/login\n", "", 400},
		{"POST", "/login\x7f", "", 400},
	} {
		q := request(t, c.method, "/")
		q.URL.Path = c.path
		for _, name := range []string{"X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-HTTP_Method", "X_Method-Override", "X.HTTP.Method.Override", "X~Method~Override"} {
			q.Header = http.Header{}
			if c.override != "" {
				q.Header.Set(name, c.override)
			}
			if a := r.ask(q); a.StatusCode != c.want {
				t.Errorf("%s %s as %q by %s: %d, want %d", c.method, c.path, c.override, name, a.StatusCode, c.want)
			}
		}
	}
}

// A request with many headers that change the method is refused without a look at each of them with each reading of its path.
func TestReadingsCostLittle(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [hundred]}"))
	ask := func(lines int) float64 {
		return testing.AllocsPerRun(3, func() {
			q := request(t, "GET", "/")
			q.URL.Path = strings.Repeat("/;", 7000)
			for i := range lines {
				q.Header.Add("X-HTTP-Method", fmt.Sprint("A", i))
			}
			if a := r.ask(q); a.StatusCode != http.StatusBadRequest {
				t.Errorf("with %d lines: %s", lines, a.Status)
			}
		})
	}
	if few, many := ask(2), ask(1000); many > few+5000 {
		t.Errorf("1,000 lines take %v allocations, and two %v", many, few)
	}
}

// What is no plain host is nobody's: it does not meet the routes of every host instead of those of its own.
func TestHosts(t *testing.T) {
	r := newRig(t, `
routes:
- {name: any, path: /}
- {name: limited, path: /, hosts: [limited.example], checks: [{limits: [strict]}]}
`)
	ask := func(host string) int {
		q := request(t, http.MethodGet, "/")
		q.Host = host
		return r.ask(q).StatusCode
	}
	if got := ask("limited.example"); got != 204 {
		t.Fatal(got)
	}
	for host, want := range map[string]int{
		"limited.example": 429, "LIMITED.example": 429, "limited.example.": 429, "limited.example:80": 429, "limited.example.:80": 429,
		"limited.example..": 400, "limited.example:80:80": 400, "limited%2eexample": 400, "limited.example:": 400, "limited.example, a": 400,
		"limited.example/": 400, "a@limited.example": 400, "": 400, "other.example": 204, "[::1]": 204, "::1": 400,
	} {
		if got := ask(host); got != want {
			t.Errorf("the host %q: %d, want %d", host, got, want)
		}
	}
}

// The query of a request goes on byte for byte, also where it cannot be parsed.
func TestQueryIsPassedOn(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /}", "", upstream(t, echo))
	for _, target := range []string{"/?b=2&a=1", "/?a=1;b=2&c=%zz&c", "/?", "/?a=b=c&&", "/?" + strings.Repeat("a&", 2000), "/a%7Eb/%2C?x", "/?%20+%2B"} {
		got := hear(t, s.URL, "GET "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		_, text, _ := strings.Cut(got, "\r\n\r\n")
		if at := strings.Index(text, "{"); at < 0 || readEcho(t, text[at:strings.LastIndex(text, "}")+1]).URI != target {
			t.Errorf("%s becomes %s", target, got)
		}
	}
}

// An interim answer of the upstream takes nothing away from what the client is told at last.
func TestInterimAnswers(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /, checks: [{limits: [ten]}]}", "answer: {headers: [ratelimit, x-ratelimit]}",
		upstream(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hint" {
				w.Header().Set("Link", "</a>; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.Header().Set("X-Ratelimit-Limit", "77")
			_, _ = io.Copy(w, r.Body)
		}))
	for what, q := range map[string]string{
		"early hints": "GET /hint HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"continue":    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
	} {
		got := hear(t, s.URL, q)
		final := got[strings.LastIndex(got, "HTTP/1.1 "):]
		if !strings.Contains(final, "\r\nRatelimit: ") || !strings.Contains(final, "\r\nX-Ratelimit-Limit: 10\r\n") || strings.Contains(final, "77") {
			t.Errorf("%s:\n%s", what, got)
		}
	}
	got := hear(t, s.URL, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"2\r\nhi\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if strings.Count(got, "HTTP/1.1 200") != 1 {
		t.Errorf("a second request was answered:\n%s", got)
	}
}

// A client that does not send its body holds up its own refusal for a moment at most.
func TestRefusedBody(t *testing.T) {
	_, s := proxied(t, "- {name: all, path: /, checks: [{limits: [strict]}]}", "", upstream(t, echo))
	fetch(t, http.MethodGet, s.URL, "")
	for _, length := range []string{"Content-Length: 100", "Content-Length: 100000", "Transfer-Encoding: chunked"} {
		got := hear(t, s.URL, "POST / HTTP/1.1\r\nHost: a\r\n"+length+"\r\n\r\n") // returns when the server gives up
		if !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("%s: %q", length, got)
		}
	}
}

// A client that breaks off its upload is no failure of the upstream.
func TestBrokenUpload(t *testing.T) {
	arrived := make(chan struct{}, 1)
	r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [ten]}]}", "", upstream(t, func(_ http.ResponseWriter, q *http.Request) {
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, q.Body)
	}))
	c, _ := say(t, s.URL, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
	<-arrived
	_ = c.Close()
	deadline := time.Now().Add(time.Minute)
	for r.count("jeton_gateway_failures_total", "reason", "canceled") == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("it is not counted\n%s", r.logs)
		}
	}
	if got := r.count("jeton_gateway_failures_total", "reason", "upstream_failed"); got != 0 || strings.Contains(r.logs.String(), "cannot be reached") {
		t.Errorf("%v failures\n%s", got, r.logs)
	}
}

// A client that stops sending its body, or sends it drop by drop, does not hold a place for ever, and is told why.
func TestSlowUpload(t *testing.T) {
	r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [ten]}]}", "", upstream(t, echo))
	d := r.parse(fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s]}}, body_pause: 200ms}\n%s", upstream(t, echo), oneRoute("{limits: [ten]}")))
	if err := r.gateway.Load(d); err != nil {
		t.Fatal(err)
	}
	const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
	if got := hear(t, s.URL, head+"abc"); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "urn:jeton:problem:body-timeout") {
		t.Errorf("a client that stops is answered: %s", got)
	}
	c, in := say(t, s.URL, head)
	go func() { // a byte now and then, which never makes a pause
		for drop := time.NewTicker(20 * time.Millisecond); ; <-drop.C {
			if _, err := io.WriteString(c, "a"); err != nil {
				drop.Stop()
				return
			}
		}
	}()
	a, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	_ = c.Close()
	if a.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a client that sends drops is answered %s", a.Status)
	}
	if got := r.count("jeton_gateway_failures_total", "reason", "body_timeout"); got != 2 {
		t.Errorf("%v bodies counted as late, want 2", got)
	}
	for deadline := time.Now().Add(time.Minute); r.count("jeton_gateway_requests_in_flight") != 0; {
		if time.Now().After(deadline) {
			t.Fatal("a slow client holds its place")
		}
	}
	if a, text := fetch(t, http.MethodPost, s.URL, "a body that comes at once"); a.StatusCode != http.StatusOK || readEcho(t, text).Body != "a body that comes at once" {
		t.Errorf("%s: %s", a.Status, text)
	}
}

// What refused requests were is kept in little room, whatever they were.
func TestRecordsAreBrief(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [strict]}"))
	r.get("/")
	a := r.ask(request(t, strings.Repeat("M", 5000), "/"+strings.Repeat("a", 30_000)))
	id := strings.TrimPrefix(fmt.Sprint(problem(t, a)["instance"]), "urn:jeton:denial:")
	record, err := r.gateway.Recall(id)
	if err != nil || len(record.Path) > 512 || len(record.Method) > 16 || strings.Count(r.logs.String(), "M") > 100 {
		t.Errorf("%v: a path of %d bytes, a method of %d", err, len(record.Path), len(record.Method))
	}
}

// Who is denied by key is let through nowhere, whatever applies there.
func TestDeniedKeys(t *testing.T) {
	r := newRig(t, `
identity: {key: ["user:{header.X-User}", "ip:{ip}"]}
deny: {keys: ["user:mallory", "team:bad"]}
routes:
- {name: all, path: /, checks: [{limits: [hundred]}]}
- {name: open, path: /open}
- {name: shadow, path: /shadow, checks: [{limits: [hundred], shadow: true}]}
- {name: chosen, path: /chosen, checks: [{key: ["team:{header.X-Team}"], unidentified: skip, choose: {by: method, when: [{is: GET, limits: []}]}}]}
`)
	for _, path := range []string{"/", "/open", "/shadow", "/chosen", "/nowhere"} {
		r.wants(path, []string{"X-User: mallory"}, 403)
		r.wants(path, []string{"X-User: alice"}, 204)
	}
	r.wants("/chosen", []string{"X-User: alice", "X-Team: bad"}, 403)
}

// What a proxy says of the request, and what a client adds to it, must not contradict each other.
func TestForwardedContradictions(t *testing.T) {
	r := newRig(t, forwarding+"exempt: {paths: [/health]}\n"+oneRoute("{limits: [hundred]}"))
	nginx := []string{"X-Original-Method: POST", "X-Original-Uri: /login?a=1", "X-Forwarded-For: 198.51.100.1"}
	for what, headers := range map[string][]string{
		"another path":             append(nginx[:3:3], "X-Forwarded-Uri: /health"),
		"another query":            append(nginx[:3:3], "X-Forwarded-Uri: /login?a=2"),
		"another method":           append(nginx[:3:3], "X-Forwarded-Method: GET"),
		"two lines":                {"X-Forwarded-Uri: /health", "X-Forwarded-Uri: /login", "X-Forwarded-For: 198.51.100.1"},
		"two hosts":                append(nginx[:3:3], "X-Forwarded-Host: a", "X-Forwarded-Host: b"),
		"another host in the URL":  {"X-Original-Url: https://api.example.com/login", "X-Forwarded-Host: other", "X-Forwarded-For: 198.51.100.1"},
		"a path that is no path":   append(nginx[:3:3], "X-Forwarded-Uri: nonsense"),
		"a path with dot segments": {"X-Forwarded-Uri: /health/../login", "X-Forwarded-For: 198.51.100.1"},
		"an opaque URL":            {"X-Forwarded-Uri: http:http://victim.example/login", "X-Forwarded-For: 198.51.100.1"},
		"two slashes":              {"X-Forwarded-Uri: //health/login", "X-Forwarded-For: 198.51.100.1"},
		"a fragment":               {"X-Forwarded-Uri: /login#/health", "X-Forwarded-For: 198.51.100.1"},
		"a star":                   {"X-Forwarded-Uri: *", "X-Forwarded-For: 198.51.100.1"},
		"nothing":                  {"X-Forwarded-Uri: ", "X-Forwarded-For: 198.51.100.1"},
		"a host that is none":      append(nginx[:3:3], "X-Forwarded-Host: limited.example.."),
		"two hosts in one line":    append(nginx[:3:3], "X-Forwarded-Host: a, b"),
		"a user in the URL":        {"X-Original-Url: https://a@api.example.com/login", "X-Forwarded-Host: api.example.com", "X-Forwarded-For: 198.51.100.1"},
		"two URLs":                 {"X-Original-Url: https://a/login", "X-Original-Uri: https://b/login", "X-Forwarded-For: 198.51.100.1"},
		"a tunnel":                 append(nginx[1:3:3], "X-Original-Method: CONNECT"),
	} {
		if got := r.forward("/auth", headers...).StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", what, got)
		}
	}
	for what, headers := range map[string][]string{
		"nginx":             nginx,
		"the same again":    append(nginx[:3:3], "X-Forwarded-Uri: /login?a=1", "X-Forwarded-Method: POST"),
		"a whole URL":       {"X-Original-Url: https://api.example.com/login", "X-Forwarded-For: 198.51.100.1"},
		"and the same host": {"X-Original-Url: https://api.example.com/login", "X-Forwarded-Host: API.example.com", "X-Forwarded-For: 198.51.100.1"},
	} {
		if got := r.forward("/auth", headers...).StatusCode; got != http.StatusOK {
			t.Errorf("%s: %d, want 200", what, got)
		}
	}
}

// A proxy that asks about a HEAD gets the answer whole.
func TestForwardAuthOfHead(t *testing.T) {
	r := newRig(t, forwarding+oneRoute("{limits: [strict]}"))
	s := httptest.NewServer(r.gateway.ForwardAuth())
	t.Cleanup(s.Close)
	headers := []string{"X-Forwarded-Method: HEAD", "X-Forwarded-Uri: /", "X-Forwarded-For: 198.51.100.1"}
	fetch(t, http.MethodGet, s.URL+"/auth", "", headers...)
	if a, text := fetch(t, http.MethodGet, s.URL+"/auth", "", headers...); a.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "quota-exceeded") {
		t.Errorf("%s: %s", a.Status, text)
	}
}

// Headers by which only proxies tell where a request comes from do not come from anybody else.
func TestProxyHeadersOfClients(t *testing.T) {
	const routes = "- {name: all, path: /, checks: [{key: [\"user:{proxy_header.X-User}\", \"ip:{ip}\"], limits: [hundred]}]}"
	forged := []string{
		"Cf-Connecting-Ip: 1.2.3.4", "True-Client-Ip: 1.2.3.4", "X-Forwarded-Port: 1", "X-Forwarded-Prefix: /admin",
		"X-Original-Url: /admin", "X-Rewrite-Url: /admin", "X-User: root",
	}
	underscored := []string{"X_forwarded_for: 1.2.3.4", "X_Forwarded-Port: 1", "X_Original_Url: /admin", "X_user: root", "X_real_ip: 1.2.3.4", "X.Forwarded.For: 6.6.6.6", "X~Real~Ip: 7.7.7.7", "X.User: root"}
	_, s := proxied(t, routes, "identity: {trusted_proxies: [192.0.2.0/24]}", upstream(t, echo))
	_, text := fetch(t, http.MethodGet, s.URL, "", append(underscored, forged...)...)
	e := readEcho(t, text)
	for _, h := range append(underscored, forged...) {
		name, _, _ := strings.Cut(h, ": ")
		if got := e.Header.Get(name); got != "" {
			t.Errorf("the upstream gets %s: %s", name, got)
		}
	}
	_, s = proxied(t, routes, "identity: {trusted_proxies: [127.0.0.1]}", upstream(t, echo))
	_, text = fetch(t, http.MethodGet, s.URL, "", append(underscored, forged...)...)
	for name := range readEcho(t, text).Header {
		if strings.ContainsAny(name, "_.~") {
			t.Errorf("the upstream gets %s, which the proxy did not write", name)
		}
	}
	if e := readEcho(t, text); e.Header.Get("X-User") != "root" || e.Header.Get("X-Forwarded-Prefix") != "/admin" {
		t.Errorf("what a trusted proxy says is gone: %v", e.Header)
	}
}

// A client that leaves before there is a decision was not refused by anybody.
func TestClientLeaves(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [strict]}"))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r.breakDown(fmt.Errorf("%w: %w", limit.ErrUnavailable, context.Canceled))
	r.ask(request(t, http.MethodGet, "/").WithContext(ctx))
	if got := r.count("jeton_gateway_requests_total", "route", "all", "outcome", "canceled"); got != 1 {
		t.Errorf("%v canceled, %v unavailable", got, r.count("jeton_gateway_requests_total", "route", "all", "outcome", "unavailable"))
	}
}
