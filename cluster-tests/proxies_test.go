package clustertests

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	for _, candidate := range []string{name, "/usr/sbin/" + name} { // which is not on everybody's path
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

// Every proxy with its configuration of deploy: the limit holds to the token, clients are told what they need, nobody gets
// past by forged headers, and without a gateway what is documented happens.
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
		"X-Forwarded-Host": {other}, "X-Forwarded-Proto": {"https"},
		"X-Forwarded-Uri": {"/health"}, "X-Original-Uri": {"/health"}, "X-Original-Url": {"/health"}, "X-Rewrite-Url": {"/health"},
		"X-Forwarded-Method": {"OPTIONS"}, "X-Original-Method": {"OPTIONS"},
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
