package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jeton-dev/jeton/gateway"
)

const (
	app   = "Origin: https://app.example.com"
	evil  = "Origin: https://evil.example"
	asks  = "Access-Control-Request-Method: PUT"
	names = "Access-Control-Request-Headers: content-type"

	shared = "cors: {origins: ['https://app.example.com', 'https://*.apps.example.com'], credentials: true}\n"
)

// mayRead says whether a page of the origin in a header line may read an answer, and which of its headers.
func mayRead(t *testing.T, a answer, origin string) (yes bool, exposed string) {
	t.Helper()
	allowed := a.Header.Values("Access-Control-Allow-Origin")
	if len(allowed) > 1 {
		t.Errorf("Access-Control-Allow-Origin comes %d times: no browser takes that", len(allowed))
	}
	yes = len(allowed) == 1 && (allowed[0] == "*" || "Origin: "+allowed[0] == origin)
	return yes, strings.Join(a.Header.Values("Access-Control-Expose-Headers"), ", ")
}

// A page in a browser reads a denial, and what it needs to behave, if its origin is allowed.
func TestPagesReadDenials(t *testing.T) {
	for _, tt := range []struct {
		name, document, origin string
		yes                    bool
		exposed, vary          string
		credentials            string
	}{
		{"none", "", app, false, "", "", ""},
		{"this one", shared, app, true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin", "true"},
		{"one below", shared, "Origin: https://a.b.apps.example.com", true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin", "true"},
		{"the name itself", shared, "Origin: https://apps.example.com", false, "", "Origin", ""},
		{"another", shared, evil, false, "", "Origin", ""},
		{"another that ends so", shared, "Origin: https://evil.example/.apps.example.com", false, "", "Origin", ""},
		{"another scheme", shared, "Origin: http://app.example.com", false, "", "Origin", ""},
		{"no page", shared, "X-A: b", false, "", "Origin", ""},
		{"all", "cors: {origins: ['*']}\nanswer: {headers: [x-ratelimit], debug: true}\n", evil, true, "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, WWW-Authenticate, X-Jeton-Decision", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			app := upstream(t, echo)
			r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [two], key: ['all']}]}", tt.document, app)
			r.wants("/", nil, 204, 204)
			proxy, _ := fetch(t, http.MethodGet, s.URL, "", tt.origin)
			for face, a := range map[string]answer{"proxy": proxy, "middleware": r.ask(request(t, http.MethodGet, "/", tt.origin))} {
				yes, exposed := mayRead(t, a, tt.origin)
				if a.StatusCode != http.StatusTooManyRequests || yes != tt.yes || exposed != tt.exposed {
					t.Errorf("%s: %d, may be read: %t %q; want %t %q", face, a.StatusCode, yes, exposed, tt.yes, tt.exposed)
				}
				if vary, with := a.Header.Get("Vary"), a.Header.Get("Access-Control-Allow-Credentials"); vary != tt.vary || with != tt.credentials {
					t.Errorf("%s: Vary %q, with credentials %q; want %q %q", face, vary, with, tt.vary, tt.credentials)
				}
			}
		})
	}
}

// Whatever the gateway answers by itself can be read; what the upstream answers, as the upstream says.
func TestPagesReadAnswers(t *testing.T) {
	own := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "https://of-the-upstream.example")
		w.Header().Set("Access-Control-Expose-Headers", "X-Own")
		w.Header().Set("Vary", "Accept-Encoding")
		if _, err := w.Write([]byte("hello")); err != nil {
			t.Error(err)
		}
	})
	early := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Access-Control-Allow-Origin", "https://of-the-upstream.example")
		w.WriteHeader(http.StatusNoContent)
	})
	r := newRig(t, fmt.Sprintf(`
proxy: {upstreams: {own: {urls: [%s]}, early: {urls: [%s]}, gone: {urls: ["http://127.0.0.1:1"]}}, max_body: 3}
deny: {networks: [127.0.0.2]}
routes:
- {name: own, path: /own, upstream: own, checks: [{limits: [ten]}]}
- {name: free, path: /free, upstream: own}
- {name: early, path: /early, upstream: early, checks: [{limits: [ten]}]}
- {name: gone, path: /gone, upstream: gone}
- {name: other, path: /other, upstream: gone, cors: {origins: ['https://other.example']}}
%s`, own, early, shared))
	s := httptest.NewServer(r.gateway.Proxy())
	t.Cleanup(s.Close)
	for _, tt := range []struct {
		method, path, body, origin string
		status                     int
		yes                        bool
		exposed, vary              string
	}{
		{"GET", "/nowhere", "", app, 404, true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin"},
		{"GET", "/nowhere", "", evil, 404, false, "", "Origin"},
		{"GET", "/gone", "", app, 502, true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin"},
		{"POST", "/own", "too long", app, 413, true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin"},
		{"GET", "/a/%2e%2e/b", "", app, 400, true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin"},
		{"GET", "/other", "", app, 502, false, "", "Origin"},
		{"GET", "/other", "", "Origin: https://other.example", 502, true, "RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate", "Origin"},
		{"GET", "/own", "", app, 200, false, "RateLimit, RateLimit-Policy, X-Own", "Accept-Encoding"},
		{"GET", "/own", "", "Origin: https://of-the-upstream.example", 200, true, "RateLimit, RateLimit-Policy, X-Own", "Accept-Encoding"},
		{"GET", "/free", "", app, 200, false, "X-Own", "Accept-Encoding"},
		{"GET", "/early", "", "Origin: https://of-the-upstream.example", 204, true, "RateLimit, RateLimit-Policy", ""},
	} {
		a, _ := fetch(t, tt.method, s.URL+tt.path, tt.body, tt.origin)
		yes, exposed := mayRead(t, a, tt.origin)
		if vary := strings.Join(a.Header.Values("Vary"), ", "); a.StatusCode != tt.status || yes != tt.yes || exposed != tt.exposed || vary != tt.vary {
			t.Errorf("%s %s %s: %d, may be read: %t %q, Vary %q; want %d %t %q %q", tt.method, tt.path, tt.origin,
				a.StatusCode, yes, exposed, vary, tt.status, tt.yes, tt.exposed, tt.vary)
		}
	}
}

// A handler behind the middleware says itself who may read its answers.
func TestPagesReadWhatHandlersSay(t *testing.T) {
	r := newRig(t, shared+oneRoute("{limits: [ten]}"))
	w := httptest.NewRecorder()
	gateway.Middleware(r.gateway)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Access-Control-Allow-Origin", "https://evil.example")
	})).ServeHTTP(w, request(t, http.MethodGet, "/", evil))
	if yes, exposed := mayRead(t, answerOf(w), evil); !yes || exposed != "RateLimit, RateLimit-Policy" || w.Header().Get("Vary") != "" {
		t.Errorf("%v", w.Header())
	}
}

// Preflights are answered by the gateway and cost nothing, where the document says whose pages may come; else they are requests
// as any others.
func TestPreflights(t *testing.T) {
	var asked atomic.Int64
	service := upstream(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	routes := `
- {name: get, path: /, methods: [GET], checks: [{limits: [two]}]}
- {name: put, path: /, methods: [PUT, OPTIONS], checks: [{limits: [two]}], cors: {origins: ['*'], methods: [PUT, PATCH], headers: [X-A, X-B], max_age: 1h}}`
	for _, tt := range []struct {
		name, document string
		headers        []string
		reached        bool
		want           map[string]string // in the answer; empty for what is not there
	}{
		{"the route's", "", []string{evil, asks, names}, false, map[string]string{
			"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "PUT, PATCH", "Access-Control-Allow-Headers": "X-A, X-B",
			"Access-Control-Max-Age": "3600", "Access-Control-Allow-Credentials": "",
		}},
		{"the document's", shared, []string{app, "Access-Control-Request-Method: GET", names}, false, map[string]string{
			"Access-Control-Allow-Origin": "https://app.example.com", "Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Headers": "content-type",
			"Access-Control-Max-Age": "600", "Access-Control-Allow-Credentials": "true", "Access-Control-Expose-Headers": "",
			"Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
		}},
		{"another origin", shared, []string{evil, "Access-Control-Request-Method: GET"}, false, map[string]string{
			"Access-Control-Allow-Origin": "", "Access-Control-Allow-Methods": "",
			"Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
		}},
		{"no route", shared, []string{app, "Access-Control-Request-Method: DELETE"}, false, map[string]string{"Access-Control-Allow-Origin": "https://app.example.com"}},
		{"no preflight", "", []string{evil}, true, nil},
		{"no origin", "", []string{asks}, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, s := proxied(t, routes, tt.document, service)
			before := asked.Load()
			for range 5 {
				a, _ := fetch(t, http.MethodOptions, s.URL, "", tt.headers...)
				if tt.reached {
					continue
				}
				if a.StatusCode != http.StatusNoContent {
					t.Fatalf("answered %d", a.StatusCode)
				}
				for name, want := range tt.want {
					if got := strings.Join(a.Header.Values(name), ", "); got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
			}
			if reached := asked.Load() > before; reached != tt.reached {
				t.Errorf("it reaches the upstream: %t, want %t", reached, tt.reached)
			}
			if left := r.remaining("ip:127.0.0.1", "two"); (left == 2) == tt.reached {
				t.Errorf("%d of 2 tokens are left", left)
			}
			counted := 0.0
			for _, route := range []string{"get", "put", "(none)"} {
				counted += r.count("jeton_gateway_requests_total", "outcome", "preflight", "route", route)
			}
			if want := map[bool]float64{true: 0, false: 5}[tt.reached]; counted != want {
				t.Errorf("%v preflights are counted, want %v", counted, want)
			}
		})
	}
}

// Behind a proxy that asks, a preflight costs what any request does, since only the application can answer it; a denial can be
// read by pages, at once or fetched by its id.
func TestPagesBehindAProxyThatAsks(t *testing.T) {
	r := newRig(t, forwarding+shared+oneRoute("{limits: [two]}"))
	ask := func(target string, more ...string) answer {
		return r.forward(target, append([]string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Uri: /v1"}, more...)...)
	}
	if a := ask("/auth", "X-Forwarded-Method: OPTIONS", app, asks); a.StatusCode != http.StatusOK || r.remaining("ip:192.0.2.1", "two") != 1 {
		t.Errorf("a preflight: %d, and %d tokens are left", a.StatusCode, r.remaining("ip:192.0.2.1", "two"))
	}
	if a := ask("/auth", app); a.StatusCode != http.StatusOK || a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("one that passes: %d %v", a.StatusCode, a.Header)
	}
	for origin, want := range map[string]bool{app: true, evil: false} {
		a := ask("/auth", origin)
		id := ask("/auth?deny=403", origin).Header.Get("X-Jeton-Denial")
		for how, a := range map[string]answer{"at once": a, "by its id": r.forward("/denied/" + id)} {
			if yes, exposed := mayRead(t, a, origin); a.StatusCode != http.StatusTooManyRequests || yes != want || (exposed != "") != want {
				t.Errorf("%s, %s: %d %v", how, origin, a.StatusCode, a.Header)
			}
		}
	}
}

// What there is no room for can be read too.
func TestPagesReadThatThereIsNoRoom(t *testing.T) {
	r := newRig(t, "cluster: {max_in_flight: 1}\n"+shared+oneRoute("{limits: [ten]}"))
	inside, done := make(chan struct{}), make(chan struct{})
	h := gateway.Middleware(r.gateway)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-done
	}))
	var running sync.WaitGroup
	running.Go(func() { h.ServeHTTP(httptest.NewRecorder(), request(t, http.MethodGet, "/")) })
	<-inside
	a := r.ask(request(t, http.MethodGet, "/", app))
	close(done)
	running.Wait()
	if yes, _ := mayRead(t, a, app); a.StatusCode != http.StatusServiceUnavailable || !yes {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
}
