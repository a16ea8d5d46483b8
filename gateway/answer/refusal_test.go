package answer_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
)

func refuse(tb testing.TB, cfg config.Answer, r *answer.Refusal) *httptest.ResponseRecorder {
	tb.Helper()
	rec := httptest.NewRecorder()
	newWriter(tb, cfg).Refuse(rec, r)
	return rec
}

func TestRefuse(t *testing.T) {
	login, daily := ruleOf(t, "login", 10, "1/s"), ruleOf(t, "daily", 1000, "1000/24h")
	exceeded := answer.Refusal{
		Quotas: []answer.Quota{after(daily, 10, 3), after(login, 9, 3)}, ID: "edge-7-k3v9", Route: "sign in",
		Detail: "too many requests: the limit login is exhausted",
	}
	with := func(change func(r *answer.Refusal)) answer.Refusal {
		r := exceeded
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		cfg     config.Answer
		refusal answer.Refusal
		want    string
	}{
		"a denial": {config.Answer{}, exceeded, `429
Cache-Control: no-store
Content-Type: application/problem+json
Ratelimit: "login";r=1;t=1
Ratelimit-Policy: "daily";q=1000;w=86400, "login";q=10;w=10
Retry-After: 2
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":"too many requests: the limit login is exhausted","instance":"urn:jeton:denial:edge-7-k3v9","violated-policies":["login"]}
`},
		"a costly request, 100 tokens short": {config.Answer{Headers: []string{"ratelimit", "ratelimit-03"}}, answer.Refusal{
			Quotas: []answer.Quota{after(ruleOf(t, "api", 10_000, "10000/1m"), 3000, 7100)}, Head: true,
		}, `429
Cache-Control: no-store
Content-Type: application/problem+json
Ratelimit: "api";r=7000;t=42
Ratelimit-Limit: 10000
Ratelimit-Policy: "api";q=10000;w=60
Ratelimit-Remaining: 7000
Ratelimit-Reset: 42
Retry-After: 1
X-Content-Type-Options: nosniff

`},
		"a denial of HEAD": {config.Answer{Headers: []string{"none"}}, with(func(r *answer.Refusal) { r.Head = true }), `429
Cache-Control: no-store
Content-Type: application/problem+json
Retry-After: 2
X-Content-Type-Options: nosniff

`},
		"no wait helps": {config.Answer{Status: 403, Headers: []string{"none"}}, answer.Refusal{Quotas: []answer.Quota{after(login, 10, 1), after(login, 0, 11)}}, `403
Cache-Control: no-store
Content-Type: application/problem+json
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":403,"violated-policies":["login"]}
`},
		"a redirect": {config.Answer{Redirect: "https://help.example/limits/{id}?from={route}"}, exceeded, `303
Cache-Control: no-store
Location: https://help.example/limits/edge-7-k3v9?from=sign%20in

`},
		"a body of its own": {
			config.Answer{
				Body: "<p>{{.Status}} at {{html .Route}}: {{range .Limits}}{{.}} {{end}}({{.ID}}), again in {{.RetryAfter}} s.\n", ContentType: "text/html",
				Status: 503, Headers: []string{"ratelimit-03"},
			},
			exceeded, `503
Cache-Control: no-store
Content-Type: text/html
Ratelimit-Limit: 10
Ratelimit-Remaining: 1
Ratelimit-Reset: 2
Retry-After: 2
X-Content-Type-Options: nosniff

<p>503 at sign in: login (edge-7-k3v9), again in 2 s.
`,
		},
		"a body for denials only": {config.Answer{Body: "no"}, answer.Refusal{Kind: answer.Forbidden}, `403
Cache-Control: no-store
Content-Type: application/problem+json
X-Content-Type-Options: nosniff

{"type":"urn:jeton:problem:forbidden","title":"The request is denied by a list","status":403}
`},
		"a body that fails": {config.Answer{Body: "{{index .Limits 0}}"}, answer.Refusal{}, `429
Cache-Control: no-store
Content-Type: application/problem+json
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":[]}
`},
		"unavailable": {config.Answer{Status: 403, Redirect: "/x"}, answer.Refusal{Kind: answer.Unavailable, Detail: "no answer"}, `503
Cache-Control: no-store
Content-Type: application/problem+json
Retry-After: 1
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,"detail":"no answer","violated-policies":[]}
`},
		"overloaded": {config.Answer{}, answer.Refusal{Kind: answer.Overloaded}, `503
Cache-Control: no-store
Content-Type: application/problem+json
Retry-After: 1
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,"violated-policies":[]}
`},
		"unidentified": {config.Answer{}, answer.Refusal{Kind: answer.Unidentified, Challenge: "Bearer\r\nX-Evil: 1"}, `401
Cache-Control: no-store
Content-Type: application/problem+json
Www-Authenticate: Bearer??X-Evil: 1
X-Content-Type-Options: nosniff

{"type":"urn:jeton:problem:unidentified","title":"No credentials identify the client","status":401}
`},
		"not found":       {config.Answer{}, answer.Refusal{Kind: answer.NotFound, Challenge: "Bearer"}, plain(404, "not-found", "No route matches")},
		"bad request":     {config.Answer{}, answer.Refusal{Kind: answer.BadRequest}, plain(400, "bad-request", "The request is malformed or ambiguous")},
		"too large":       {config.Answer{}, answer.Refusal{Kind: answer.TooLarge}, plain(413, "too-large", "The body is too large")},
		"bad gateway":     {config.Answer{}, answer.Refusal{Kind: answer.BadGateway}, plain(502, "bad-gateway", "The upstream cannot be reached")},
		"gateway timeout": {config.Answer{}, answer.Refusal{Kind: answer.GatewayTimeout}, plain(504, "gateway-timeout", "The upstream did not answer in time")},
	} {
		t.Run(name, func(t *testing.T) {
			rec, full := refuse(t, c.cfg, &c.refusal), c.refusal
			full.Head = false
			if got, want := rec.Header().Get("Content-Length"), itoa(refuse(t, c.cfg, &full).Body.Len()); got != want {
				t.Errorf("Content-Length is %q, and the body has %s bytes", got, want)
			}
			rec.Header().Del("Content-Length")
			if got := dump(rec); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// plain is what a refusal without limits looks like.
func plain(status int, name, title string) string {
	body := `{"type":"urn:jeton:problem:` + name + `","title":"` + title + `","status":` + itoa(status) + "}\n"
	return itoa(status) + "\nCache-Control: no-store\nContent-Type: application/problem+json\nX-Content-Type-Options: nosniff\n\n" + body
}

func TestRefuseReplacesWhatWasMeantForAnotherAnswer(t *testing.T) {
	for _, cfg := range []config.Answer{{}, {Redirect: "/denied"}} {
		rec := httptest.NewRecorder()
		for _, name := range []string{"Content-Encoding", "ETag", "Last-Modified", "Retry-After", "Content-Type", "Content-Length", "Cache-Control"} {
			rec.Header().Set(name, "old")
		}
		rec.Header().Set("X-Request-Id", "1")
		newWriter(t, cfg).Refuse(rec, &answer.Refusal{})
		got := lines(rec.Header())
		if strings.Contains(got, "old") || !strings.Contains(got, "X-Request-Id: 1") {
			t.Errorf("got %s", got)
		}
	}
}

// net/http's own server and client agree with what is written, for GET and for HEAD.
func TestRefuseThroughAServer(t *testing.T) {
	w := newWriter(t, config.Answer{})
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.Refuse(rw, &answer.Refusal{
			Quotas: []answer.Quota{after(ruleOf(t, "login", 10, "1/s"), 10, 1)}, Head: r.Method == http.MethodHead,
		})
	}))
	defer s.Close()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || res.StatusCode != http.StatusTooManyRequests || res.ContentLength < 100 || res.Header.Get("RateLimit") != `"login";r=0;t=1` {
			t.Errorf("%s: %d, %d bytes, %v, %v", method, res.StatusCode, res.ContentLength, res.Header, err)
		}
		if want := map[string]int64{http.MethodGet: res.ContentLength, http.MethodHead: 0}[method]; int64(len(body)) != want {
			t.Errorf("%s: a body of %d bytes, want %d", method, len(body), want)
		}
	}
}

func TestKinds(t *testing.T) {
	w := newWriter(t, config.Answer{Status: 420})
	words := map[string]bool{}
	for kind, status := range map[answer.Kind]int{
		answer.Exceeded: 420, answer.Unavailable: 503, answer.Overloaded: 503, answer.Forbidden: 403, answer.Unidentified: 401,
		answer.NotFound: 404, answer.BadRequest: 400, answer.TooLarge: 413, answer.BadGateway: 502, answer.GatewayTimeout: 504, 99: 500,
	} {
		if got := w.Status(kind); got != status {
			t.Errorf("%s: %d, want %d", kind, got, status)
		}
		words[kind.String()] = true
	}
	if len(words) != 11 {
		t.Errorf("two kinds have one word: %v", words)
	}
	if got := newWriter(t, config.Answer{Redirect: "/x"}).Status(answer.Exceeded); got != http.StatusSeeOther {
		t.Errorf("a redirect is %d", got)
	}
}

func FuzzRefuse(f *testing.F) {
	f.Add("login", "edge-1-abc", "sign-in", "one sentence", "Bearer")
	f.Add(`a"b\c`, "a b", "ü\xff", "<script>&\"\\\u2028\x00", "Bearer\r\nSet-Cookie: x=y")
	f.Add("", "{route}", "{id}", "", "Bearer realm=\"ü\"")
	f.Add("a%41\n", "../..", "a+b&c=d#e?f", "\r\n\r\nHTTP/1.1 200 OK", "\x7f")
	f.Fuzz(func(t *testing.T, name, id, route, detail, challenge string) {
		rule := ruleOf(t, "login", 10, "1/s")
		q := after(rule, 10, 1)
		q.Name, q.Rule = name, nil
		for _, kind := range []answer.Kind{answer.Exceeded, answer.Unidentified} {
			rec := refuse(t, config.Answer{Debug: true}, &answer.Refusal{
				Kind: kind, Quotas: []answer.Quota{q}, ID: id, Route: route, Detail: detail, Challenge: challenge,
			})
			checkHeader(t, rec.Header())
			list := parse(t, rec.Header(), "RateLimit")
			if len(list) != 1 || list[0].name != quoted(name) {
				t.Fatalf("%q became %+v", name, list)
			}
			var p struct {
				Type, Detail, Instance string
				Violated               []string `json:"violated-policies"`
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
				t.Fatalf("%v: %s", err, rec.Body)
			}
			if want := string([]rune(detail)); p.Detail != want { // what is no UTF-8 is replaced
				t.Fatalf("got %q, want %q", p.Detail, want)
			}
			if want := string([]rune(name)); kind == answer.Exceeded && (len(p.Violated) != 1 || p.Violated[0] != want) {
				t.Fatalf("got %q, want %q", p.Violated, want)
			}
			if u, err := url.Parse(p.Instance); err != nil || id != "" && u.Scheme != "urn" {
				t.Fatalf("%q is no URI: %v", p.Instance, err)
			}
		}
		rec := refuse(t, config.Answer{Redirect: "https://help.example/a/{id}/b?from={route}&x=1#top"}, &answer.Refusal{ID: id, Route: route})
		checkHeader(t, rec.Header())
		u, err := url.Parse(rec.Header().Get("Location"))
		if err != nil || u.Host != "help.example" || u.Path != "/a/"+id+"/b" || u.Query().Get("from") != route || u.Query().Get("x") != "1" ||
			len(u.Query()) != 2 || u.Fragment != "top" {
			t.Fatalf("%q and %q became %s, %v", id, route, rec.Header().Get("Location"), err)
		}
	})
}

// checkHeader refuses what could end a field or begin another one.
func checkHeader(tb testing.TB, h http.Header) {
	tb.Helper()
	for name, values := range h {
		for _, v := range values {
			if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
				tb.Fatalf("%s: %q", name, v)
			}
		}
	}
}
