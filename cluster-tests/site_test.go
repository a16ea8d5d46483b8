package clustertests

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// What deploy/gateway says of its one limit, and how many requests the tests send.
const (
	siteLimit    = "api"
	siteCapacity = 60
	siteRefill   = 1 // a second
	siteRequests = 70
	siteKey      = "test-key-123"
)

// A site is an application whose requests are limited: a cluster, gateways, and the application itself.
type site struct {
	*testing.T

	cluster  *process.Cluster
	gateways []*gatewayProcess
	app      string                      // address of the application
	reached  atomic.Int64                // requests that it got
	shown    atomic.Pointer[http.Header] // of the last of them
	inside   bool                        // the application that is asked is another one, inside of the gateway
	repeats  string                      // repeat_denials of the gateways; empty for none: tests fill buckets, and ask at once
	client   *http.Client
}

// A gatewayProcess is one "jeton gateway".
type gatewayProcess struct {
	*process.Node

	name, proxy, admin, forwardAuth string // addresses; proxy and forwardAuth as the document has them
	sent                            int    // how many hedges it had sent when last asked; see hedges
}

// newSite starts a cluster with the limits of deploy/gateway, and the application.
func newSite(t *testing.T, nodes int) *site {
	t.Helper()
	limits, err := os.ReadFile("../deploy/gateway/limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// A machine that stalls must not make a gateway count by itself.
	return newSiteWith(t, nodes, strings.Replace(string(limits), "on_unavailable: local", "on_unavailable: deny", 1))
}

// newSiteWith is newSite with other limits.
func newSiteWith(t *testing.T, nodes int, limits string) *site {
	t.Helper()
	return newSiteOf(t, process.StartCluster(t, process.Build(t), nodes, limits))
}

// newSiteOf is newSite with a cluster that runs.
func newSiteOf(t *testing.T, c *process.Cluster) *site {
	t.Helper()
	s := &site{T: t, cluster: c}
	app := httptest.NewServer(http.HandlerFunc(s.application))
	t.Cleanup(app.Close)
	s.app = app.Listener.Addr().String()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport, Timeout: process.Patience}
	return s
}

// application answers what is let through. It forbids some things by itself.
func (s *site) application(w http.ResponseWriter, r *http.Request) {
	s.reached.Add(1)
	s.shown.Store(&r.Header)
	if r.URL.Path == "/forbidden" {
		w.Header().Set("X-Application", "mine")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "the application says no")
		return
	}
	fmt.Fprintf(w, "%s %s", r.Method, r.URL)
}

// loopback is an address on a free port.
func loopback(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(process.FreePorts(t, 1)))
}

// startGateway starts a gateway with a document of deploy/gateway, in which only addresses and the time for a decision are
// others, and what is said besides. It returns when the gateway is ready.
func (s *site) startGateway(document string, besides ...string) *gatewayProcess {
	s.Helper()
	g := &gatewayProcess{
		name:  fmt.Sprintf("gateway-%d", len(s.gateways)+1),
		proxy: loopback(s.T), admin: loopback(s.T), forwardAuth: loopback(s.T),
	}
	pairs := append([]string{
		"127.0.0.1:7700", strings.Join(s.cluster.Servers(), ", "),
		"\ncluster:\n", fmt.Sprintf("\nname: %s\nadmin: {listen: %s}\ncluster:\n  decide_within: 30s\n  repeat_denials: %s\n", g.name, g.admin, cmp.Or(s.repeats, "0s")),
	}, besides...)
	text, err := os.ReadFile("../deploy/gateway/" + document)
	if err != nil {
		s.Fatal(err)
	}
	if strings.Contains(string(text), "127.0.0.1:7780") {
		pairs = append(pairs, "127.0.0.1:7780", g.proxy, "127.0.0.1:9000", s.app)
	} else {
		pairs = append(pairs, "127.0.0.1:7782", g.forwardAuth)
	}
	for i, p := range pairs {
		pairs[i] = strings.NewReplacer("PROXY", g.proxy, "APPLICATION", s.app).Replace(p)
	}
	dir := render(s.T, "../deploy/gateway", pairs...)
	g.Node = process.Launch(s.T, process.Build(s.T), "gateway", "--config", filepath.Join(dir, document))
	s.gateways = append(s.gateways, g)
	g.WaitForLog("msg=serving")
	s.until(g.Node, func() bool {
		status, _, err := s.get("http://" + g.admin + "/readyz")
		return err == nil && status == http.StatusOK
	})
	return g
}

// render copies the files of a folder of deploy into a new one, with other texts in the place of some: pairs of what is
// there and what is to be. What is not there is an error: the test would not test what it says.
func render(t *testing.T, folder string, pairs ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		text = []byte(strings.NewReplacer(pairs...).Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(all.String(), pairs[i]) {
			t.Fatalf("%s: has no %q", folder, pairs[i])
		}
	}
	return dir
}

// until asks again and again until something is so.
func (s *site) until(n *process.Node, so func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(process.Patience); !so(); <-tick.C {
		if time.Now().After(end) {
			s.Fatalf("it is still not so; the process said:\n%s", n.Log())
		}
	}
}

// get asks for a page.
func (s *site) get(url string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	a, err := s.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return a.StatusCode, string(text), err
}

// send sends one request to an address.
func (s *site) send(method, address, path, body string, header http.Header) response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header = header
	a, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response{a.StatusCode, a.Header, string(text)}
}
