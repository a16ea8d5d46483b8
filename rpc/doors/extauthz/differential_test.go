package extauthz_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// twinDocument has something of everything that decides about a request or words its answer.
const twinDocument = `
name: twin
cluster: {repeat_denials: 0s}  # which go by the time of the machine
forward_auth: {}
identity:
  key: ["key:{api_key}", "session:{cookie.session}", "ip:{ip}"]
  trusted_proxies: [10.0.0.0/8, 127.0.0.1]  # the last is Envoy itself, when it asks over HTTP
  api_key: {any: true, secret_file: secret}
deny: {networks: [203.0.113.0/24], keys: ["key:mallory"]}
exempt: {paths: [/health], token_file: tokens}
answer: {headers: [ratelimit, x-ratelimit], debug: true}
cors: {origins: ["https://app.example.com"]}
routes:
- {name: login, methods: [POST], hosts: [www.example.com], path: /login, checks: [{limits: [two]}], answer: {status: 420, body: "{{.ID}} of {{.Route}}", content_type: text/plain}}
- {name: moved, path: /moved, checks: [{limits: [two]}], answer: {redirect: "https://example.com/slow?{id}"}}
- {name: items, path: "/v1/items/{item}", checks: [{limits: [ten]}, {key: ["item:{path.item}"], limits: [five]}, {limits: [hundred], key: ["shadow"], shadow: true}]}
- {name: sure, path: /sure, checks: [{limits: [strict], cost: {header: X-Cost, max: 50}}]}
- {name: known, path: /known, checks: [{key: ["key:{api_key}"], limits: [ten]}]}
- {name: all, path: /, checks: [{limits: [ten]}]}
`

// A twinRequest is a request that both doors are asked about.
type twinRequest struct {
	method, path, host, from string
	odd                      bool     // no proxy asks about it by the line of the request itself
	header, forged           []string // "Name: value"; a proxy that asks over HTTP replaces what is forged
}

func (q twinRequest) String() string {
	return fmt.Sprintf("%s %s, Host %q, from %s, %q, forged %q", q.method, q.path, q.host, q.from, q.header, q.forged)
}

// drawTwin draws a request.
func drawTwin(rng *rand.Rand) twinRequest {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	q := twinRequest{
		method: one("GET", "GET", "POST", "POST", "PUT", "OPTIONS", "HEAD", "DELETE", "M-SEARCH"),
		path:   one("/", "/login", "/login", "/moved", "/v1/items/1", "/v1/items/2?page=2", "/sure", "/known", "/health", "/caf%C3%A9", "/login?", "/?a=b&a=c"),
		host:   one("www.example.com", "www.example.com", "WWW.example.com.", "www.example.com:8443", "api.example.com", "[2001:db8::1]:80"),
		from:   one("198.51.100.1", "198.51.100.1", "198.51.100.2", "2001:db8::1", "2001:db8::2", "::ffff:198.51.100.1", "10.0.0.1", "203.0.113.7"),
	}
	odd := rng.IntN(12)
	q.odd = odd < 3
	switch odd {
	case 0:
		q.method = one("get", "CONNECT", "Post")
	case 1:
		q.path = one("/v1/items/a%2Fb", "/v1//items/1", "/v1/items/1;x=1", "/a/../login", "/login#x", "//login", "/%ff", "/x y", "*", "https://www.example.com/login", "http://other/login", "login", "/%zz")
	case 2:
		q.host = one("a..b", "127.1", "www.example.com:")
	}
	for range rng.IntN(3) {
		q.header = append(q.header, one("X-Api-Key: one", "X-Api-Key: two", "X-Api-Key: mallory", "Cookie: session=1", "Cookie: a=b; session=2", "X-Forwarded-For: 192.0.2.1, 10.0.0.2",
			"X-Forwarded-For: nonsense", "Forwarded: for=192.0.2.1", "Origin: https://app.example.com", "Origin: https://evil.example.com", "X-Internal-Token: an-internal-token-of-ours",
			"X-HTTP-Method-Override: DELETE", "X-Cost: 7", "X-Cost: 1000", "X-Cost: x", "Authorization: Bearer junk", "Access-Control-Request-Method: POST", "X_Api_Key: three",
			"User-Agent: Mozilla/5.0 (KHTML, like Gecko)", "Accept: a/b,c/d", "X-Latin: caf\xe9", "Content-Type: application/grpc", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	}
	if rng.IntN(3) == 0 {
		q.forged = append(q.forged, one("X-Forwarded-Method: GET", "X-Forwarded-Uri: /health", "X-Forwarded-Host: api.example.com", "X-Original-Method: PUT", "X-Original-Uri: /health",
			"X-Original-Url: https://x/health", "X-Forwarded-Proto: gopher"))
	}
	return q
}

// overHTTP asks the forward-auth handler of a gateway as nginx or Traefik does, over a connection.
func (q twinRequest) overHTTP(t *testing.T, client *http.Client, at string) answer {
	t.Helper()
	return q.send(t, client, http.MethodGet, at, "/auth", q.from, map[string]string{
		"X-Forwarded-Method": q.method, "X-Forwarded-Uri": q.path, "X-Forwarded-Host": q.host, "X-Forwarded-Proto": "https",
	})
}

// asEnvoy asks the forward-auth handler of a gateway as Envoy does over HTTP with path_prefix: /auth. Envoy adds its own address behind that
// of the client.
func (q twinRequest) asEnvoy(t *testing.T, client *http.Client, at string) answer {
	t.Helper()
	return q.send(t, client, q.method, at, "/auth"+q.path, q.from+",127.0.0.1", map[string]string{"Host": q.host})
}

// send sends a question with the client's headers, those of the proxy and the hop that the proxy adds.
func (q twinRequest) send(t *testing.T, client *http.Client, method, at, target, hop string, own map[string]string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = target                             // as it is
	r.Header["User-Agent"], r.Host = nil, own["Host"] // not that of the Go client
	for _, line := range q.header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	r.Header.Add("X-Forwarded-For", hop)
	for name, value := range own {
		r.Header.Set(name, value)
	}
	w, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	w.Header.Del("Date")
	w.Header.Del("Content-Length")
	return answer{status: w.StatusCode, header: w.Header, body: string(body)}
}

// ids are those of the twins' denials, which have a random part.
var ids = regexp.MustCompile(`twin-[0-9a-z]+-[a-z2-7]{16}`)

// told is an answer as it is compared.
func (a answer) told() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.status)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		fmt.Fprintf(&b, "%s: %q\n", name, a.header[name])
	}
	b.WriteString(a.body)
	return ids.ReplaceAllString(b.String(), "ID")
}

// Gateways with one document, asked in three ways, decide and answer alike: the same status, fields and body, for requests at random, while
// nodes decide and while none does. One is asked over HTTP by X-Forwarded headers, one as Envoy asks over HTTP, and one through the door in
// both forms of headers.
func TestAllWaysToAskAnswerAlike(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	overHTTP, byPrefix, overGRPC := newRig(t, twinDocument), newRig(t, twinDocument), newRig(t, twinDocument)
	serverOf := func(r *rig) string {
		s := httptest.NewServer(r.gateway.ForwardAuth())
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	httpAt, prefixAt, door := serverOf(overHTTP), serverOf(byPrefix), overGRPC.client()
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	met := map[int]int{}
	all := []int{200, 303, 400, 401, 403, 420, 429, 503}
	missing := func(status int) bool { return met[status] == 0 }
	for i := 0; i < 1000 || i < 100_000 && slices.ContainsFunc(all, missing); i++ {
		q, down, passed := drawTwin(rng), rng.IntN(8) == 0, rng.Int64N(1e9)
		asked := []*rig{overHTTP, overGRPC}
		if !q.odd {
			asked = append(asked, byPrefix)
		}
		for _, r := range []*rig{overHTTP, byPrefix, overGRPC} {
			r.down.Store(down)
			r.nanos.Add(passed)
		}
		if q.odd {
			q.header, q.from = nil, "192.0.2.77" // which only two of the three will know
		}
		want := q.overHTTP(t, client, httpAt)
		check := ask(q.method+" "+q.path, append(append([]string{"From: " + q.from, "Host: " + q.host}, q.forged...), q.header...)...)
		if rng.IntN(2) == 0 && !slices.Contains(q.header, "X-Latin: caf\xe9") {
			check = merged(check)
		}
		got := asks(t, door, check)
		if got.told() != want.told() {
			t.Fatalf("seed %d, request %d: %s\nover HTTP:\n%s\nthrough the door:\n%s", seed, i, q, want.told(), got.told())
		}
		if !q.odd {
			again := q.asEnvoy(t, client, prefixAt)
			if q.method == http.MethodHead {
				again.body = want.body // net/http sends none
			}
			if again.told() != want.told() {
				t.Fatalf("seed %d, request %d: %s\nby X-Forwarded headers:\n%s\nby a prefix:\n%s", seed, i, q, want.told(), again.told())
			}
		}
		if met[got.status]++; strings.Contains(got.body, `"violated-policies":["five"]`) { // what the check before it took comes back in the background
			for _, r := range asked {
				<-r.returned
			}
		}
	}
	if slices.ContainsFunc(all, missing) {
		t.Errorf("seed %d: not all of %v were answered: %v", seed, all, met)
	}
}

// The memory of what came first does not matter: a header with several lines keeps their order.
func TestOrderOfLines(t *testing.T) {
	var got []string
	c := serve(t, handlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header["X-A"]
		w.WriteHeader(http.StatusOK)
	}))
	r := ask("GET /", "X-A: 1", "X-B: 2", "X-A: 3")
	r.GetAttributes().GetRequest().GetHttp().HeaderMap.Headers = append(r.GetAttributes().GetRequest().GetHttp().HeaderMap.Headers, &corev3.HeaderValue{Key: "X-A", RawValue: []byte("4")})
	if _, err := c.Check(context.WithoutCancel(t.Context()), r); err != nil || !slices.Equal(got, []string{"1", "3", "4"}) {
		t.Errorf("%q, %v", got, err)
	}
}
