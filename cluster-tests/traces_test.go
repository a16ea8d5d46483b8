package clustertests

import (
	"encoding/json"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

const tracedDocument = `
name: edge
cluster: {servers: [SERVERS], decide_within: 5s}
admin: {listen: ADMIN}
tracing: {endpoint: COLLECTOR, insecure: true, share: SHARE}
proxy: {listen: PROXY, upstreams: {application: {urls: [http://APPLICATION]}}}
routes:
- {name: all, path: /, checks: [{key: ["user:{header.X-User}"], limits: [api]}]}
`

// A tracedSpan is a line of the collector beside this file.
type tracedSpan struct {
	Service, Instance   string
	Name, Kind          string
	Trace, Span, Parent string
	Attributes          map[string]any
}

// tracedSpans are the spans that a collector has taken, by their ids.
func tracedSpans(t *testing.T, c *process.Node) map[string]tracedSpan {
	t.Helper()
	all := map[string]tracedSpan{}
	for line := range strings.Lines(c.Log()) {
		if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "\n") {
			continue
		}
		var s tracedSpan
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[s.Span] = s
	}
	return all
}

// startCollector builds the receiver of OpenTelemetry's collector from the module beside this file, and runs it.
func startCollector(t *testing.T) (c *process.Node, address string) {
	t.Helper()
	binary, address := filepath.Join(t.TempDir(), "collector"), loopback(t)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "collector", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	c = process.Launch(t, binary, address)
	c.WaitForLog("collecting")
	return c, address
}

// One request through a gateway to three nodes is one trace: the gateway, its client, the node that is asked, and every replica that
// writes before the answer, each below the one that asked it. A request that is not sampled leaves no span anywhere.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	collector, address := startCollector(t)
	s := newSiteOf(t, process.StartCluster(t, process.Build(t), 3, "limits: {api: {capacity: 100, refill: 1/s, reserve: exact}}",
		"--otlp-endpoint", address, "--otlp-insecure"))
	g := s.startWith(strings.NewReplacer("COLLECTOR", address, "SHARE", "1e-9").Replace(tracedDocument))
	const trace = "0af7651916cd43dd8448eb211c80319c"
	ask := func(trace, flags string) {
		t.Helper()
		s.until(g.Node, func() bool {
			a := s.send(http.MethodGet, g.proxy, "/", "", http.Header{"X-User": {"secret"}, "Traceparent": {"00-" + trace + "-" + gatewaysClient + "-" + flags}})
			return a.header.Get("RateLimit") != ""
		})
	}
	ask("0af7651916cd43dd8448eb211c80319d", "00")
	ask(trace, "01")
	// Each node is asked over HTTP too: two of them pass the check on.
	for _, m := range s.cluster.Members {
		s.until(m.Node, func() bool { // again if it was not decided in time
			a := s.send(http.MethodPost, m.HTTP, "/v1/check", `{"key": "secret", "limits": ["api"]}`, http.Header{"Traceparent": {"00-" + trace + "-" + nodesClient + "-01"}})
			if a.status != http.StatusOK && a.status != http.StatusServiceUnavailable && a.status != http.StatusGatewayTimeout {
				t.Fatalf("%d %s", a.status, a.body)
			}
			return a.status == http.StatusOK
		})
	}
	var spans map[string]tracedSpan
	t.Cleanup(func() {
		if below := orphan(spans); t.Failed() && below != nil {
			t.Logf("the span above this one is missing: %+v", *below)
		}
	})
	s.until(collector, func() bool {
		spans = tracedSpans(t, collector)
		return countSpans(spans, "jeton.decide") >= 1+1+3+2 && len(writers(spans)) == 3 && orphan(spans) == nil
	})
	checkTrace(t, spans, trace)
}

// countSpans counts the spans of a name.
func countSpans(spans map[string]tracedSpan, name string) (n int) {
	for s := range maps.Values(spans) {
		if s.Name == name {
			n++
		}
	}
	return n
}

// writers are the replicas of which there is a span, in order.
func writers(spans map[string]tracedSpan) (names []string) {
	for s := range maps.Values(spans) {
		if s.Name == "jeton.reserve" {
			names = append(names, s.Instance)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The spans of the clients of TestOneTrace, which no collector gets.
const gatewaysClient, nodesClient = "b7ad6b7169203331", "b7ad6b7169203332"

// orphan is a span of which the one above is not there yet, nil if there is none: each process sends its spans at times of its own.
func orphan(spans map[string]tracedSpan) *tracedSpan {
	for s := range maps.Values(spans) {
		if _, ok := spans[s.Parent]; !ok && s.Parent != gatewaysClient && s.Parent != nodesClient {
			return &s
		}
	}
	return nil
}

// checkTrace checks that the spans are one trace, each below the one that is to have asked it, without a key.
func checkTrace(t *testing.T, spans map[string]tracedSpan, trace string) {
	t.Helper()
	for _, s := range spans {
		if s.Trace != trace {
			t.Errorf("%s of %s is in another trace: %s", s.Name, s.Instance, s.Trace)
		}
		if text, err := json.Marshal(s); err != nil || strings.Contains(string(text), "secret") {
			t.Errorf("a key is in %s (%v)", text, err)
		}
		parent := spans[s.Parent]
		want := "" // of the parent: service, name
		switch {
		case s.Service == "jeton-gateway" && s.Name == "jeton.decide":
			if s.Parent != gatewaysClient {
				t.Errorf("the gateway's span is below %s, not below that of its client", s.Parent)
			}
			continue
		case s.Service == "jeton-gateway":
			want = "jeton-gateway jeton.decide"
		case s.Name == "jeton.decide" && s.Parent == nodesClient:
			continue
		case s.Name == "jeton.decide":
			want = parent.Service + " jeton.check"
			if s.Attributes["jeton.decided"] != "here" {
				t.Errorf("a node that was asked by the table has passed the check on: %v", s.Attributes)
			}
		case s.Name == "jeton.check":
			want = "jeton jeton.decide"
		case s.Name == "jeton.reserve":
			want = "jeton jeton.decide"
		}
		if got := parent.Service + " " + parent.Name; got != want {
			t.Errorf("%s of %s is below %q, want %q", s.Name, s.Instance, got, want)
		}
	}
}

// Without a collector requests pass as ever, and the nodes say so once.
func TestTracesWithoutCollector(t *testing.T) {
	t.Parallel()
	nowhere := loopback(t)
	s := newSiteOf(t, process.StartCluster(t, process.Build(t), 1, "limits: {api: {capacity: 1000000, refill: 1000000/s}}",
		"--otlp-endpoint", nowhere, "--otlp-insecure", "--trace-sample", "1"))
	g := s.startWith(strings.NewReplacer("COLLECTOR", nowhere, "SHARE", "1").Replace(tracedDocument))
	for range 200 {
		if a := s.send(http.MethodGet, g.proxy, "/", "", http.Header{"X-User": {"user"}}); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	node := s.cluster.Members[0].Node
	node.WaitForLog("the collector does not accept spans")
	if n := strings.Count(node.Log(), "the collector does not accept spans"); n != 1 {
		t.Errorf("%d lines of the log say that the collector is gone", n)
	}
	if code := node.Stop(); code != 0 {
		t.Errorf("the node ends with %d", code)
	}
}
