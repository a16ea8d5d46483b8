package clustertests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A proxyProcess is a proxy that asks a gateway, as deploy has it.
type proxyProcess struct {
	*process.Node

	address string
}

// proxyKinds are the proxies that deploy has a configuration for and that can be run here. Traefik cannot.
var proxyKinds = []struct {
	name  string
	start func(s *site, besides ...string) *proxyProcess
	// What is changed in the configuration so that requests do not pass while there is no gateway, and what they are
	// answered then.
	closed []string
	status int
}{
	{"nginx", startNginx, []string{"    error_page 502 504 = @jeton_unavailable;\n", ""}, http.StatusInternalServerError},
	{"HAProxy", startHAProxy, []string{"#http-request return", "http-request return"}, http.StatusServiceUnavailable},
	{"Caddy", startCaddy, []string{caddyPasses, ""}, http.StatusBadGateway},
}

// caddyPasses is what lets requests pass in deploy/caddy while there is no gateway.
const caddyPasses = `	handle_errors 502 503 504 {
		@undecided not vars {http.vars.jeton} passed
		route @undecided {
			import application
		}
	}
`

// program finds a program, which must be there.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name} { // which is not on every user's path
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: apt-get install %s", name, name)
	return ""
}

// startProxy runs a proxy and returns when it listens.
func (s *site) startProxy(address, path string, args ...string) *proxyProcess {
	s.Helper()
	p := &proxyProcess{process.Launch(s.T, path, args...), address}
	s.until(p.Node, func() bool {
		c, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	return p
}

// startNginx runs nginx on deploy/nginx.
func startNginx(s *site, besides ...string) *proxyProcess {
	s.Helper()
	address := loopback(s.T)
	pairs := append([]string{"127.0.0.1:8080", address, "127.0.0.1:9000", s.app, "timeout 1s;", "timeout 30s;"}, besides...)
	if len(s.gateways) == 1 {
		pairs = append(pairs, "127.0.0.1:7782", s.gateways[0].forwardAuth)
	}
	file := filepath.Join(render(s.T, "../deploy/nginx", pairs...), "nginx.conf")
	return s.startProxy(address, program(s.T, "nginx"), "-p", s.TempDir(), "-c", file, "-g", "daemon off; master_process off;")
}

// startHAProxy runs HAProxy on deploy/haproxy.
func startHAProxy(s *site, besides ...string) *proxyProcess {
	s.Helper()
	address := loopback(s.T)
	dir := render(s.T, "../deploy/haproxy", append([]string{
		"127.0.0.1:8080", address, "127.0.0.1:9000", s.app, "127.0.0.1:7782", s.gateways[0].forwardAuth,
		"abns@jeton", "abns@jeton-" + address, // a name of the whole machine
		"timeout server 1s", "timeout server 30s", "timeout connect 250ms", "timeout connect 30s",
		"inter 1s", "inter 60s", "local patience = 1000", "local patience = 30000",
	}, besides...)...)
	return s.startProxy(address, program(s.T, "haproxy"), "-C", dir, "-f", "haproxy.cfg", "-db")
}

// startCaddy builds Caddy from the module beside this file and runs it on deploy/caddy.
func startCaddy(s *site, besides ...string) *proxyProcess {
	s.Helper()
	address := loopback(s.T)
	port := address[strings.LastIndexByte(address, ':'):]
	home := s.TempDir()
	binary := filepath.Join(home, "caddy")
	if out, err := exec.CommandContext(s.Context(), "go", "build", "-C", "caddy", "-o", binary, ".").CombinedOutput(); err != nil {
		s.Fatalf("go build: %v\n%s", err, out)
	}
	file := filepath.Join(render(s.T, "../deploy/caddy", append([]string{
		"http://:8080", "http://" + port, "127.0.0.1:9000", s.app, "127.0.0.1:7782", s.gateways[0].forwardAuth,
		"dial_timeout 1s", "dial_timeout 30s", "response_header_timeout 1s", "response_header_timeout 30s",
	}, besides...)...), "Caddyfile")
	return s.startProxy(address, "env", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, binary, "run", "--config", file)
}

// Every proxy with its configuration of deploy: the limit holds to the token, clients get the limit headers, forged headers
// do not help a client past the limit, and without a gateway the proxy does what is documented.
func TestProxies(t *testing.T) {
	t.Parallel()
	for _, kind := range proxyKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			g := s.startGateway("forward-auth.yaml")
			p := kind.start(s)
			defer func() {
				if t.Failed() {
					t.Logf("%s said:\n%s\nthe gateway said:\n%s", kind.name, p.Log(), g.Log())
				}
			}()
			s.ownForbidden(p.address)
			s.burst(at(p.address), known)
			s.burst(at(p.address), forged)

			g.Kill()
			s.undecided(p.address, http.StatusOK)
			s.undecided(kind.start(s, kind.closed...).address, kind.status)
		})
	}
}

// narrow is a site with a limit of one request a day for one host, and none for others.
func narrow(t *testing.T) (s *site, g *gatewayProcess) {
	t.Helper()
	s = newSiteWith(t, 1, "limits: {api: {algorithm: token-bucket, capacity: 1, refill: 1/24h, on_unavailable: deny}}")
	g = s.startGateway("forward-auth.yaml", "    path: /\n", "    path: /\n    hosts: [api.example.com]\n")
	return s, g
}

// No request is so odd that a proxy cannot ask about it and lets it pass, or asks about another one than it passes on.
func TestProxiesAskAboutWhatTheyPassOn(t *testing.T) {
	t.Parallel()
	for _, kind := range proxyKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s, g := narrow(t)
			p := kind.start(s)
			defer func() {
				if t.Failed() {
					t.Logf("%s said:\n%s\nthe gateway said:\n%s", kind.name, p.Log(), g.Log())
				}
			}()
			const plain = "GET / HTTP/1.1\r\nHost: api.example.com\r\n"
			s.wantRaw(p.address, plain, http.StatusOK)
			s.wantRaw(p.address, plain, http.StatusTooManyRequests)
			s.wantRaw(p.address, "GET / HTTP/1.1\r\nHost: other.example.com\r\n", http.StatusOK) // which has no limit
			reached := s.reached.Load()
			for name, head := range oddities() {
				// What is asked of Caddy itself, it answers itself.
				if status := s.raw(p.address, head); status >= 200 && status < 400 && name != "asterisk" {
					t.Errorf("%s: %d, though the limit is used up", name, status)
				}
			}
			if kind.name != "HAProxy" { // which says 400 to two hosts
				s.wantRaw(p.address, "GET http://api.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n", http.StatusTooManyRequests)
			}
			s.wantRaw(p.address, plain, http.StatusTooManyRequests)
			if got := s.reached.Load(); got != reached {
				t.Errorf("%d requests have come to the application, though the limit is used up", got-reached)
			}
			const key = "X-Api-Key: " + siteKey + "\r\n"
			s.wantRaw(p.address, plain+key+"X-Api-Key: junk\r\n", http.StatusBadRequest)
			s.wantRaw(p.address, plain+key+key, http.StatusOK)
		})
	}
}

// oddities are the heads of requests to the host that has a limit, by what is odd about them.
func oddities() map[string]string {
	const plain = "GET / HTTP/1.1\r\nHost: api.example.com\r\n"
	odd := map[string]string{
		"absolute":              "GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n",
		"absolute, other host":  "GET http://api.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n",
		"absolute, no host":     "GET http://api.example.com/ HTTP/1.0\r\n",
		"absolute, no path":     "GET http://api.example.com HTTP/1.1\r\nHost: api.example.com\r\n",
		"absolute, with a port": "GET http://API.example.com:80/ HTTP/1.1\r\nHost: API.example.com:80\r\n",
		"opaque":                "GET http:http://victim.example/ HTTP/1.1\r\nHost: api.example.com\r\n",
		"opaque, own host":      "GET http:http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n",
		"a user in the URL":     "GET http://other.example.com@api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n",
		"no path at all":        "GET health HTTP/1.1\r\nHost: api.example.com\r\n",
		"a host in the path":    "GET //health/x HTTP/1.1\r\nHost: api.example.com\r\n",
		"a fragment":            "GET /x#/../health HTTP/1.1\r\nHost: api.example.com\r\n",
		"up from exempt":        "GET /health/%2e%2e/x HTTP/1.1\r\nHost: api.example.com\r\n",
		"a dot behind":          "GET / HTTP/1.1\r\nHost: api.example.com.\r\n",
		"two dots behind":       "GET / HTTP/1.1\r\nHost: api.example.com..\r\n",
		"an escaped dot":        "GET / HTTP/1.1\r\nHost: api%2eexample.com\r\n",
		"two ports":             "GET / HTTP/1.1\r\nHost: api.example.com:80:80\r\n",
		"capitals":              "GET / HTTP/1.1\r\nHost: API.EXAMPLE.COM\r\n",
		"two hosts":             plain + "Host: other.example.com\r\n",
		"tunnel":                "CONNECT api.example.com:80 HTTP/1.1\r\nHost: api.example.com:80\r\n",
		"asterisk":              "OPTIONS * HTTP/1.1\r\nHost: api.example.com\r\n",
		"body":                  "POST / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n",
		"upgrade":               plain + "Connection: Upgrade\r\nUpgrade: websocket\r\n",
		"expects":               "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\nExpect: 100-continue\r\n",
		"bytes":                 plain + "X-A: \xff\x80\r\n",
		"dropped":               plain + "Connection: X-Forwarded-Host, X-Forwarded-For, X-Forwarded-Uri, X-Forwarded-Method\r\n",
		"forged twice": plain + strings.Repeat("X-Forwarded-Host: other.example.com\r\nX-Forwarded-Uri: /health\r\nX-Original-Uri: /health\r\n"+
			"X-Original-Url: /health\r\nX-Forwarded-Method: OPTIONS\r\nX-Original-Method: OPTIONS\r\nForwarded: for=1.2.3.4\r\n", 2),
	}
	for lines := range 30 {
		odd[fmt.Sprintf("%d lines", 75+lines)] = plain + strings.Repeat("A: b\r\n", 75+lines)
	}
	for _, bytes := range []int{8_000, 11_800, 12_000, 13_000, 14_000, 15_000, 15_200, 15_400, 16_000, 20_000, 31_000, 60_000, 100_000, 130_000, 200_000, 900_000} {
		long := strings.Repeat("a", bytes)
		odd[fmt.Sprintf("header of %d bytes", bytes)] = plain + "X-A: " + long + "\r\n"
		odd[fmt.Sprintf("path of %d bytes", bytes)] = "GET /" + long + " HTTP/1.1\r\nHost: api.example.com\r\n"
		odd[fmt.Sprintf("method of %d bytes", bytes)] = strings.ToUpper(long) + " / HTTP/1.1\r\nHost: api.example.com\r\n"
	}
	return odd
}

// What is between a proxy and its gateway, and the token that exempts, stays there: clients are not told it, and what they say of
// it does not come to the application. A denial that a page may read goes to the page.
func TestProxiesKeepToThemselvesWhatIsTheirs(t *testing.T) {
	t.Parallel()
	for _, kind := range proxyKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := newSiteWith(t, 1, "limits: {api: {algorithm: token-bucket, capacity: 1, refill: 1/24h, on_unavailable: deny}}")
			g := s.startGateway("forward-auth.yaml", "\nexempt:\n", "\ncors: {origins: [https://app.example.com]}\nexempt:\n")
			p := kind.start(s)
			defer func() {
				if t.Failed() {
					t.Logf("%s said:\n%s\nthe gateway said:\n%s", kind.name, p.Log(), g.Log())
				}
			}()
			ask := func(more ...string) response {
				said := known(0)
				said.Set("Origin", "https://app.example.com")
				for _, name := range more {
					said.Set(name, "said by a client")
				}
				return s.send(http.MethodGet, p.address, "/items", "", said)
			}
			inner := []string{"X-Jeton-Denial", "X-Jeton-Decision", "X-Jeton-Answer", "X-Internal-Token"}
			a := ask(inner...)
			for tries := 0; a.status != http.StatusOK && tries < 20; tries++ { // a check whose answer came too late was charged
				s.refill()
				a = ask(inner...)
			}
			if a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.body)
			}
			a = ask(inner...)
			if a.status != http.StatusTooManyRequests || !strings.Contains(a.body, "urn:jeton:denial:") {
				t.Fatalf("%d %s", a.status, a.body)
			}
			for _, name := range inner {
				if got := s.shown.Load().Get(name); got != "" && name != "X-Jeton-Answer" { // which means nothing in a request
					t.Errorf("the application hears %s: %s", name, got)
				}
				if got, ok := a.header[name]; ok {
					t.Errorf("the client is told %s: %s", name, got)
				}
			}
			if got := a.header["Access-Control-Allow-Origin"]; len(got) != 1 || got[0] != "https://app.example.com" {
				t.Errorf("a page may not read the denial: %v", a.header)
			}
		})
	}
}

// A program in Lua that fails lets no request pass.
func TestHAProxyFailsClosed(t *testing.T) {
	t.Parallel()
	s, _ := narrow(t)
	p := startHAProxy(s, "local asked = question(txn)", "local asked = nobody.knows")
	s.wantRaw(p.address, "GET / HTTP/1.1\r\nHost: api.example.com\r\n", http.StatusInternalServerError)
}

// wantRaw checks how a request that is written as it stands is answered.
func (s *site) wantRaw(address, head string, want int) {
	s.Helper()
	if got := s.raw(address, head); got != want {
		s.Errorf("%.80q is answered %d, want %d", head, got, want)
	}
}

// raw sends the head of a request as it stands, without the empty line at its end, with a body if it has one, and returns the status of the answer; 0
// when the connection is closed instead.
func (s *site) raw(address, head string) (status int) {
	s.Helper()
	c, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", address)
	if err != nil {
		s.Fatalf("the proxy is not there any more: %v", err)
	}
	defer c.Close() //nolint:errcheck // all is said
	if err := c.SetDeadline(time.Now().Add(process.Patience)); err != nil {
		s.Fatal(err)
	}
	body := ""
	if strings.Contains(head, "chunked") {
		body = "2\r\nhi\r\n0\r\n\r\n"
	}
	if _, err := io.WriteString(c, head+"Connection: close\r\n\r\n"+body); err != nil {
		return 0 // what is too long is not read to its end
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.Errorf("%.80q is not answered", head)
	}
	if err != nil {
		return 0
	}
	defer a.Body.Close()
	return a.StatusCode
}

// ownForbidden checks that a 403 of the application comes to the client as it is, with its limits.
func (s *site) ownForbidden(address string) {
	s.Helper()
	a := s.send(http.MethodGet, address, "/forbidden", "", http.Header{})
	if a.status != http.StatusForbidden || a.header.Get("X-Application") != "mine" || a.body != "the application says no" {
		s.Errorf("instead of its own 403 the application's client got %d %v %s", a.status, a.header, a.body)
	}
	s.told(a)
}

// forged is the header of a client that wants to be taken for another one at each request, or its request for one that has
// no limit.
func forged(i int) http.Header {
	other := fmt.Sprintf("203.0.113.%d", i)
	return http.Header{
		"X-Forwarded-For": {other}, "X-Real-Ip": {other}, "Cf-Connecting-Ip": {other}, "Forwarded": {"for=" + other},
		"X-Forwarded-Host": {other, "localhost"}, "X-Forwarded-Proto": {"https"},
		"X-Forwarded-Uri": {"/health", "/"}, "X-Original-Uri": {"/health", "/"}, "X-Original-Url": {"/health"}, "X-Rewrite-Url": {"/health"},
		"X-Forwarded-Method": {"OPTIONS", "GET"}, "X-Original-Method": {"OPTIONS", "GET"},
		"X-Internal-Token": {"a-token-of-somebody-else"}, "X-Api-Key": {fmt.Sprintf("made-up-%d", i)},
	}
}

// undecided checks what becomes of a request about which no gateway can be asked.
func (s *site) undecided(address string, status int) {
	s.Helper()
	for range 3 {
		before := s.reached.Load()
		a := s.send(http.MethodPost, address, "/items", "a body", known(0))
		if a.status != status || a.header.Get("RateLimit") != "" {
			s.Errorf("without a gateway: %d %v %s, want %d", a.status, a.header, a.body, status)
		}
		if passed := s.reached.Load() > before; passed != (status == http.StatusOK) {
			s.Errorf("without a gateway the answer is %d, and that the application was asked is %v", a.status, passed)
		}
	}
}

// What Traefik passes on to the application lacks the same: its configuration cannot be run here.
func TestTraefikKeepsToItselfWhatIsIts(t *testing.T) {
	text, err := os.ReadFile("../deploy/traefik/dynamic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		HTTP struct {
			Routers     map[string]struct{ Middlewares []string }
			Middlewares map[string]struct {
				Headers struct {
					CustomRequestHeaders map[string]string `yaml:"customRequestHeaders"`
				}
				ForwardAuth *struct {
					AuthRequestHeaders []string `yaml:"authRequestHeaders"`
				} `yaml:"forwardAuth"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for name, router := range document.HTTP.Routers {
		taken := map[string]bool{}
		for i, name := range router.Middlewares {
			m := document.HTTP.Middlewares[name]
			for header, value := range m.Headers.CustomRequestHeaders {
				taken[header] = value == "" && i > 0 // after the gateway has been asked
			}
			if m.ForwardAuth != nil && !slices.Contains(m.ForwardAuth.AuthRequestHeaders, "Origin") {
				t.Errorf("router %s: the gateway does not hear whose page asks", name)
			}
		}
		for _, header := range []string{"X-Jeton-Denial", "X-Jeton-Decision", "X-Internal-Token"} {
			if !taken[header] {
				t.Errorf("router %s passes %s on to the application", name, header)
			}
		}
	}
}

// What cannot be run here can at least be read.
func TestProxiesDocuments(t *testing.T) {
	for _, file := range []string{"traefik/traefik.yaml", "traefik/dynamic.yaml", "prometheus/alerts.yaml"} {
		text, err := os.ReadFile("../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := yaml.Unmarshal(text, &document); err != nil || len(document) == 0 {
			t.Errorf("%s: %d fields, %v", file, len(document), err)
		}
	}
}
