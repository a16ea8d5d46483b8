package extauthz_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Both forms in which Envoy sends headers.
var forms = map[string]func(*authv3.CheckRequest) *authv3.CheckRequest{
	"header_map": func(r *authv3.CheckRequest) *authv3.CheckRequest { return r },
	"headers":    merged,
}

// What a client says in headers of proxies does not override the attributes, and does not reach the upstream.
func TestHeadersOfClientsOverrideNothing(t *testing.T) {
	for form, in := range forms {
		for _, forged := range []string{
			"X-Forwarded-Method: GET", "X-Forwarded-Uri: /free", "X-Forwarded-Host: free.example.com", "X-Original-Method: GET", "X-Original-URI: /free",
			"X-Original-URL: /free", "X-Original-URL: https://free.example.com/free", "x-FORWARDED-uri: /free", "X_Forwarded_Uri: /free", "X_ORIGINAL-url: /free",
			"X-Rewrite-Url: /free", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.1, 192.0.2.2", "X-Forwarded-For: nonsense", "Forwarded: for=192.0.2.1",
			"X-Forwarded-Proto: ftp", "X-Real-Ip: 192.0.2.1", "X-Envoy-External-Address: 192.0.2.1", "Host: free.example.com",
		} {
			r := newRig(t, `
forward_auth: {}
routes:
- {name: login, methods: [POST], hosts: [www.example.com], path: /login, checks: [{limits: [two]}]}
- {name: free, path: /free}
`)
			q := ask("POST /login")
			name, value, _ := strings.Cut(forged, ": ")
			h := q.GetAttributes().GetRequest().GetHttp()
			h.HeaderMap.Headers = append(h.HeaderMap.Headers, &corev3.HeaderValue{Key: name, RawValue: []byte(value)})
			q = in(q)
			wants(t, r.client(), q, 200, 200, 429)
			if got := r.remaining("ip:198.51.100.1", "two"); got != 0 {
				t.Errorf("%s, %q: %d tokens are left", form, forged, got)
			}
			dashed := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
			hidden := slices.Contains([]string{"X-Forwarded-Method", "X-Forwarded-Uri", "X-Original-Method", "X-Original-Uri", "X-Original-Url", "X-Rewrite-Url"}, dashed)
			r.nanos.Add(int64(120e9))
			if a := asks(t, r.client(), q); hidden != slices.Equal(a.remove, []string{name}) {
				t.Errorf("%s, %q: the upstream does not get %q", form, forged, a.remove)
			}
		}
	}
}

// Two lines with the same name contradict each other as they do over HTTP, also where Envoy has merged them: an application might read the
// first, and the gateway would count the client by both together, in a fresh bucket for each second line.
func TestContradictingLines(t *testing.T) {
	document := `
forward_auth: {}
identity:
  key: ["key:{api_key}", "session:{cookie.session}", "ip:{ip}"]
  api_key: {any: true, secret_file: secret}
routes: [{name: all, path: /, checks: [{limits: [ten]}]}]
`
	for form, in := range forms {
		c := newRig(t, document).client()
		for _, lines := range [][]string{
			{"X-Api-Key: one", "X-Api-Key: two"},
			{"X-Api-Key: one", "x-api-KEY: two"},
			{"X-Api-Key: one", "X-Api-Key: "},
			{"X-Api-Key: ", "X-Api-Key: two"},
			{"Cookie: session=1", "Cookie: session=2"},
			{"Cookie: a=b; session=1", "Cookie: session=2; c=d"},
			{"X-Api-Key: one", "X_Api_Key: two"},
		} {
			if a := asks(t, c, in(ask("GET /", lines...))); a.status != 400 {
				t.Errorf("%s, %q: %d", form, lines, a.status)
			}
		}
		for _, lines := range [][]string{
			{"X-Api-Key: one", "X-Api-Key: one"},
			{"Accept: text/html", "Accept: */*"},
			{"Accept: text/html,application/xml;q=0.9", "Accept-Language: de,en;q=0.5", "User-Agent: Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 (KHTML, like Gecko)"},
			{"Cookie: session=1; seen=a,b,c"},
		} {
			if a := asks(t, c, in(ask("GET /", lines...))); a.status != 200 {
				t.Errorf("%s, %q: %d: %s", form, lines, a.status, a.body)
			}
		}
	}
	// Two spellings of a name in headers, which is a map, are two lines.
	q := merged(ask("GET /", "X-Api-Key: one"))
	q.GetAttributes().GetRequest().GetHttp().Headers["X-API-KEY"] = "two"
	wants(t, newRig(t, document).client(), q, 400)
}

// What services might read in two ways is refused, as it is over HTTP; it is never judged as another path.
func TestAmbiguousTargets(t *testing.T) {
	r := newRig(t, `
forward_auth: {}
routes:
- {name: login, methods: [POST], path: /login, checks: [{limits: [ten]}]}
- {name: all, path: /}
`)
	c := r.client()
	for _, path := range []string{
		"", "*", "login", "//login", "/a/../login", "/./login", "/a%2f..%2flogin", "/%2e%2e/login", "/login%2Fx", "/login%5cx", "/login%00", `/\login`, "/login#x", "/#/login",
		"/login ", " /login", "/lo gin", "/login?a b", "/login?a#b", "/%zz", "/%ff", "http://other.example.com/login", "https://user@www.example.com/login", "ftp://www.example.com/login",
		"www.example.com:443", "http:/login", "?login", "/login;x=1",
	} {
		for form, in := range forms {
			a := asks(t, c, in(ask("POST "+path)))
			if a.status != 400 || a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s, %q: %d: %s", form, path, a.status, a.body)
			}
		}
	}
	wants(t, c, ask("POST https://www.example.com/login"), 200)
	if got := r.remaining("ip:198.51.100.1", "ten"); got != 9 {
		t.Errorf("%d tokens are left, want 9: the absolute form is the same path", got)
	}
	for _, host := range []string{"", "..", "www.example.com:", "a b", "www.example.com,free.example.com", "user@www.example.com", "ex%61mple.com", "127.1"} {
		if a := asks(t, c, ask("POST /login", "Host: "+host)); a.status != 400 {
			t.Errorf("host %q: %d", host, a.status)
		}
	}
	for _, method := range []string{"post", "Post", "CONNECT"} {
		if a := asks(t, c, ask(method+" /login")); a.status != 400 {
			t.Errorf("method %q: %d", method, a.status)
		}
	}
}

// What no header can hold is refused by the door: a client that gets such bytes past its proxy is denied, and is no error.
func TestOddBytes(t *testing.T) {
	reached := false
	c := serve(t, handlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	with := func(change func(*authv3.AttributeContext_HttpRequest)) *authv3.CheckRequest {
		r := ask("GET /")
		r.GetAttributes().GetRequest().GetHttp().HeaderMap = nil
		change(r.GetAttributes().GetRequest().GetHttp())
		return r
	}
	header := func(name, value string) *authv3.CheckRequest {
		return with(func(h *authv3.AttributeContext_HttpRequest) { h.Headers = map[string]string{name: value} })
	}
	raw := func(name string, value string) *authv3.CheckRequest {
		return with(func(h *authv3.AttributeContext_HttpRequest) {
			h.HeaderMap = &corev3.HeaderMap{Headers: []*corev3.HeaderValue{{Key: name, RawValue: []byte(value)}}}
		})
	}
	for what, r := range map[string]*authv3.CheckRequest{
		"a space in the method":         with(func(h *authv3.AttributeContext_HttpRequest) { h.Method = "GE T" }),
		"a line break in the method":    with(func(h *authv3.AttributeContext_HttpRequest) { h.Method = "GET\r\nX-Forwarded-Uri: /free" }),
		"a method that is not ASCII":    with(func(h *authv3.AttributeContext_HttpRequest) { h.Method = "GÉT" }),
		"a line break in the path":      with(func(h *authv3.AttributeContext_HttpRequest) { h.Path = "/\r\nX-Forwarded-Method: GET" }),
		"a zero byte in the path":       with(func(h *authv3.AttributeContext_HttpRequest) { h.Path = "/\x00" }),
		"a line break in the host":      with(func(h *authv3.AttributeContext_HttpRequest) { h.Host = "a\nb" }),
		"a line break in the scheme":    with(func(h *authv3.AttributeContext_HttpRequest) { h.Scheme = "http\n" }),
		"a line break in a value":       header("x-a", "1\r\nX-Forwarded-For: 192.0.2.1"),
		"a bare line feed in a value":   raw("x-a", "1\n2"),
		"a zero byte in a value":        raw("x-a", "\x00"),
		"a line break in a name":        header("x-a\r\nx-b", "1"),
		"a space in a name":             header("x a", "1"),
		"a colon in a name":             raw("x:a", "1"),
		"an empty name":                 raw("", "1"),
		"a name that is not ASCII":      header("x-ä", "1"),
		"a path that Envoy has changed": raw(":path", "/\xff"),
		"another method in HTTP/2":      raw(":method", "POST"),
		"another host in HTTP/2":        raw(":authority", "free.example.com"),
	} {
		a := asks(t, c, r)
		if a.status != 400 || !strings.Contains(a.body, `"status":400`) || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	if reached {
		t.Error("the handler was asked")
	}
}

// A header without bounds is refused before anything is made of it.
func TestHugeHeaders(t *testing.T) {
	asked := 0
	c := serve(t, handlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		lines := 0
		for _, values := range r.Header {
			lines += len(values)
		}
		if lines > 1000+5 {
			t.Errorf("the handler gets %d lines", lines)
		}
		w.WriteHeader(http.StatusOK)
	}))
	many := func(n int) *authv3.CheckRequest {
		r := ask("GET /")
		h := r.GetAttributes().GetRequest().GetHttp()
		h.HeaderMap, h.Headers = nil, map[string]string{}
		for i := range n {
			h.Headers[fmt.Sprint("x-", i)] = "1"
		}
		return r
	}
	long := func(n int) *authv3.CheckRequest { return ask("GET /", "X-A: "+strings.Repeat("a", n)) }
	path := func(n int) *authv3.CheckRequest { return ask("GET /" + strings.Repeat("a", n)) }
	wants(t, c, many(1000), 200)
	wants(t, c, long(127<<10), 200)
	wants(t, c, path(127<<10), 200)
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	for what, r := range map[string]*authv3.CheckRequest{
		"many names": many(1001), "a hundred thousand names": many(100_000), "a long value": long(128 << 10), "a long path": path(128 << 10),
		"lines that are merged": merged(ask("GET /", "X-A: "+strings.Repeat(",", 1001))),
	} {
		a := asks(t, c, r)
		if a.status != 431 || !strings.Contains(a.body, "at most 1000 lines") {
			t.Errorf("%s: %d: %s", what, a.status, a.body)
		}
	}
	if asked != 3 {
		t.Error("the handler was asked")
	}
}

// What the proxy must always say is missing: an error, which names the attribute and says what to do.
func TestMissingAttributes(t *testing.T) {
	c := serve(t, handlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was asked") }))
	without := func(change func(*authv3.AttributeContext)) *authv3.CheckRequest {
		r := ask("GET /")
		change(r.GetAttributes())
		return r
	}
	from := func(a *corev3.Address) *authv3.CheckRequest {
		return without(func(at *authv3.AttributeContext) { at.Source = &authv3.AttributeContext_Peer{Address: a} })
	}
	socket := func(text string) *corev3.Address {
		return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: text}}}
	}
	const source = "attributes.source.address.socket_address.address"
	for what, test := range map[string]struct {
		r    *authv3.CheckRequest
		says []string
	}{
		"everything":     {&authv3.CheckRequest{}, []string{"attributes is missing"}},
		"the request":    {without(func(a *authv3.AttributeContext) { a.Request = nil }), []string{"attributes.request.http is missing", "HTTP filter"}},
		"of HTTP":        {without(func(a *authv3.AttributeContext) { a.Request.Http = nil }), []string{"attributes.request.http is missing"}},
		"the method":     {without(func(a *authv3.AttributeContext) { a.Request.Http.Method = "" }), []string{"attributes.request.http.method is missing"}},
		"the source":     {without(func(a *authv3.AttributeContext) { a.Source = nil }), []string{source + " is missing", "IP address"}},
		"its address":    {from(nil), []string{source + " is missing"}},
		"its text":       {from(socket("")), []string{source + " is missing"}},
		"a Unix socket":  {from(&corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/run/x"}}}), []string{source, "Unix socket"}},
		"a name":         {from(socket("localhost")), []string{source, `"localhost" is not an IP address`, "192.0.2.7"}},
		"an odd address": {from(socket("198.51.100.1, 192.0.2.1\r\n")), []string{source, "is not an IP address"}},
		"two forms": {
			without(func(a *authv3.AttributeContext) { a.Request.Http.Headers = map[string]string{"x-a": "1"} }),
			[]string{"headers and header_map", "send one"},
		},
	} {
		w, err := c.Check(t.Context(), test.r)
		if status.Code(err) != codes.InvalidArgument || w != nil {
			t.Errorf("%s: %v, %v", what, w, err)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", what, err, part)
			}
		}
	}
}
