package clustertests

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// outageLimits say each what happens when no decision can be had.
const outageLimits = `limits:
  open: {capacity: 10, refill: 1/1h, on_unavailable: allow}
  shut: {capacity: 10, refill: 1/1h, on_unavailable: deny}
  own: {capacity: 8, refill: 1/1h, on_unavailable: local}
`

// outageDocument is of one gateway of two, so that a local bucket holds half. It waits for decisions on a busy machine too: a request that is
// decided without the cluster before that is killed takes from the local bucket.
const outageDocument = `
cluster: {servers: [SERVERS], gateways: 2, decide_within: 10s}
admin: {listen: ADMIN}
proxy: {listen: PROXY, upstreams: {application: {urls: [http://APPLICATION]}}}
answer: {debug: true}
routes:
- {name: open, path: /open, checks: [{key: ["all"], limits: [open]}]}
- {name: shut, path: /shut, checks: [{key: ["all"], limits: [shut]}]}
- {name: own, path: /own, checks: [{key: ["all"], limits: [own]}]}
`

// startWith starts a gateway with a document of the test's own.
func (s *site) startWith(document string) *gatewayProcess {
	s.Helper()
	g := &gatewayProcess{proxy: loopback(s.T), admin: loopback(s.T)}
	path := filepath.Join(s.TempDir(), "gateway.yaml")
	text := strings.NewReplacer("SERVERS", strings.Join(s.cluster.Servers(), ", "), "ADMIN", g.admin, "PROXY", g.proxy, "APPLICATION", s.app).Replace(document)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	g.Node = process.Launch(s.T, process.Build(s.T), "gateway", "--config", path)
	s.gateways = append(s.gateways, g)
	s.until(g.Node, func() bool {
		status, _, err := s.get("http://" + g.admin + "/readyz")
		return err == nil && status == http.StatusOK
	})
	return g
}

// decided asks until the cluster itself has decided, and returns its answer: a stalled machine may use up the time that a
// decision has.
func (s *site) decided(g *gatewayProcess, path string) response {
	s.Helper()
	var a response
	s.until(g.Node, func() bool {
		a = s.send(http.MethodGet, g.proxy, path, "", nil)
		return strings.Contains(a.header.Get("X-Jeton-Decision"), "by=cluster")
	})
	return a
}

// All nodes are killed: every limit does what it says. They come back: the cluster decides again, and has forgotten nothing.
func TestGatewayWithoutCluster(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, 3, outageLimits)
	g := s.startWith(outageDocument)
	for _, path := range []string{"/open", "/shut", "/own"} {
		if a := s.decided(g, path); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, m := range s.cluster.Members {
		m.Kill()
	}
	statuses := map[string]map[int]int{}
	var took []time.Duration
	for range 30 {
		for _, path := range []string{"/open", "/shut", "/own"} {
			start := time.Now()
			a := s.send(http.MethodGet, g.proxy, path, "", nil)
			took = append(took, time.Since(start))
			if statuses[path] == nil {
				statuses[path] = map[int]int{}
			}
			statuses[path][a.status]++
			if a.status == http.StatusServiceUnavailable && (!strings.Contains(a.body, "#temporary-reduced-capacity") || a.header.Get("Retry-After") == "") {
				t.Errorf("%s: %v %s", path, a.header, a.body)
			}
		}
	}
	want := map[string]map[int]int{"/open": {200: 30}, "/shut": {503: 30}, "/own": {200: 4, 429: 26}}
	if fmt.Sprint(statuses) != fmt.Sprint(want) {
		t.Errorf("without a cluster: %v, want %v", statuses, want)
	}
	slices.Sort(took)
	t.Logf("without a cluster: median %v, longest %v", took[len(took)/2], took[len(took)-1])

	for _, m := range s.cluster.Members {
		m.Launch()
	}
	for _, m := range s.cluster.Members {
		m.Ready()
	}
	back := time.Now()
	s.decided(g, "/open")
	t.Logf("the cluster decides again %v after its nodes were ready", time.Since(back))
	admitted := 0
	for range 40 {
		if a := s.decided(g, "/shut"); a.status == http.StatusOK {
			admitted++
		}
	}
	// One was admitted before. A check that came too late for the gateway may have been charged all the same.
	if admitted > 9 || admitted == 0 {
		t.Errorf("%d of 10 were admitted after the outage, one before", admitted)
	}
}
