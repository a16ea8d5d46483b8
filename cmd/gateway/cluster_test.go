package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/node"
)

// planet is the address of a cluster of one with the limit two, of three requests an hour.
func planet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "limits.yaml"), "limits: {two: {capacity: 3, refill: 1/h}}")
	n, err := node.Open(node.Config{
		Data: filepath.Join(dir, "data"), Limits: filepath.Join(dir, "limits.yaml"), Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return n.GRPCAddr()
}

// twoClusters is a document whose only checks ask region and then global.
func twoClusters(upstream, region, global string) string {
	return fmt.Sprintf(`
name: test
cluster: {decide_within: 5s}
clusters: {region: {servers: [%q]}, global: {servers: [%q]}}
proxy: {listen: "127.0.0.1:0", upstreams: {api: {urls: [%q]}}}
admin: {listen: "127.0.0.1:0"}
identity: {key: [%s]}
routes: [{name: items, path: /items, checks: [{cluster: region, limits: [four]}, {cluster: global, limits: [two]}]}]
`, region, global, upstream, `"everybody of {header.X-Test}"`)
}

func TestTwoClusters(t *testing.T) {
	document := twoClusters(anUpstream(t).URL, aNode, planet(t))
	r := open(t, Config{}, document)
	for _, c := range r.clusters {
		r.until(t, "limits of "+c.name, func() bool { return c.limits() != nil })
	}
	from := "X-Test: " + t.Name()
	for i := range 3 {
		if a := r.get(t, r.ProxyAddr(), "/items", from); a.status != http.StatusOK {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
	}
	if a := r.get(t, r.ProxyAddr(), "/items", from); a.status != http.StatusTooManyRequests || !strings.Contains(a.body, "the limit global/two is exhausted") {
		t.Errorf("beyond the global limit: %d %s", a.status, a.body)
	}
	bucket := func(cluster, limit string) string {
		return "/clusters/" + cluster + "/v1/buckets/" + limit + "/everybody%20of%20" + t.Name()
	}
	r.until(t, "the region has got its token back", func() bool {
		return strings.Contains(r.get(t, r.AdminAddr(), bucket("region", "four")).body, `"tokens":1`)
	})
	if a := r.get(t, r.AdminAddr(), bucket("global", "two")); !strings.Contains(a.body, `"tokens":0`) {
		t.Errorf("the bucket of the planet: %d %s", a.status, a.body)
	}
	if a := r.send(t, http.MethodDelete, "http://"+r.AdminAddr()+bucket("global", "two"), ""); a.status != http.StatusNoContent {
		t.Errorf("filled: %d %s", a.status, a.body)
	}
	for path, want := range map[string]string{
		"/readyz":                        "cluster global: every key can be decided",
		"/metrics":                       `jeton_gateway_limits_total{limit="global/two"`,
		"/clusters/global/v1/limits":     `"capacity":3`,
		"/clusters/globe/v1/limits":      "has no cluster globe: its clusters are at /clusters/global/v1/, /clusters/region/v1/",
		"/v1/limits":                     "has no cluster without a name: its clusters are at",
		"/clusters/global/debug/config":  "",
		"/clusters/global/v1/denials/xy": "",
	} {
		a := r.get(t, r.AdminAddr(), path)
		if path == "/readyz" {
			a = r.readyz(t, "")
		}
		if found := strings.Contains(a.body, want); want == "" && a.status != http.StatusNotFound || !found {
			t.Errorf("%s: %d %s, want %q", path, a.status, a.body, want)
		}
	}
	for series, clusters := range map[string][]string{"jeton_client_limits_version": {"region", "global"}, "jeton_fallback_checks_total": {"region", "global"}} {
		body := r.get(t, r.AdminAddr(), "/metrics").body
		for _, cluster := range clusters {
			if want := series + `{cluster="` + cluster + `"`; !strings.Contains(body, want) {
				t.Errorf("the metrics do not have %s", want)
			}
		}
	}
	write(t, r.path, strings.Replace(document, "global: {", "world: {", 1))
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), `"global" is not a cluster: use one of region, world`) {
		t.Errorf("a cluster that is missing: %v", err)
	}
	write(t, r.path, strings.ReplaceAll(document, "global", "world"))
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "clusters: it cannot change while the gateway runs (from global, region to region, world): restart the gateway") {
		t.Errorf("another cluster: %v", err)
	}
}

// TestOneClusterIsAway serves while the limits of one cluster are known: checks that ask the other go by on_unavailable.
func TestOneClusterIsAway(t *testing.T) {
	document := strings.Replace(twoClusters(anUpstream(t).URL, aNode, "127.0.0.1:1"), "limits: [two]", "limits: [two], on_unavailable: allow", 1)
	r := open(t, Config{}, document)
	r.until(t, "ready", func() bool { return r.Ready() == nil })
	for i := range 4 {
		if a := r.get(t, r.ProxyAddr(), "/items", "X-Test: "+t.Name()); a.status != http.StatusOK {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
	}
	if a := r.get(t, r.ProxyAddr(), "/items", "X-Test: "+t.Name()); a.status != http.StatusTooManyRequests || !strings.Contains(a.body, "region/four") {
		t.Errorf("beyond the limit of the region: %d %s", a.status, a.body)
	}
	if a := r.get(t, r.AdminAddr(), "/readyz"); a.status != http.StatusOK || !strings.HasPrefix(a.body, "degraded: cluster global: no node can be reached") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestWhatIsMissingOfClusters names the fields that a gateway needs, and a document alone does not.
func TestWhatIsMissingOfClusters(t *testing.T) {
	whole := twoClusters("http://127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:2")
	for _, c := range []struct{ old, now, want string }{
		{"cluster: region, ", "", "routes[0].checks[0].cluster: is missing: name one of global, region, or add cluster.servers"},
		{`global: {servers: ["127.0.0.1:2"]}`, "global: {}", "clusters.global.servers: is missing"},
	} {
		path := filepath.Join(t.TempDir(), "gateway.yaml")
		write(t, path, strings.Replace(whole, c.old, c.now, 1))
		if _, err := Try(Config{Path: path}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error that says %s", err, c.want)
		}
	}
}

// TestReloadKeepsTheClusters refuses a document that leaves out the servers of a cluster, or adds some: what a gateway shows to one cluster is never shown to another one.
func TestReloadKeepsTheClusters(t *testing.T) {
	both := strings.Replace(twoClusters(anUpstream(t).URL, aNode, "127.0.0.1:1"), "cluster: {decide", `cluster: {servers: ["127.0.0.1:1"], decide`, 1)
	r := open(t, Config{}, both)
	without := strings.Replace(both, `servers: ["127.0.0.1:1"], decide`, "decide", 1)
	write(t, r.path, without)
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "cluster.servers: it cannot change while the gateway runs (from [127.0.0.1:1] to none): restart the gateway") {
		t.Errorf("a document without the servers of a cluster: %v", err)
	}
	if got := len(r.now.Load().reaches); got != 3 {
		t.Errorf("%d clusters are in force, of 3", got)
	}
	r = open(t, Config{}, without)
	write(t, r.path, both)
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "cluster.servers: it cannot change") {
		t.Errorf("a document with servers of one more cluster: %v", err)
	}
}

// TestProblemsOfOneCluster tells of a wrong limit of one cluster while another one does not answer.
func TestProblemsOfOneCluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	write(t, path, strings.Replace(twoClusters("http://127.0.0.1:1", aNode, "127.0.0.1:1"), "[four]", "[for]", 1))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	found, err := AskProblems(ctx, Config{Path: path})
	if len(found) != 1 || !strings.Contains(found[0].Text, `unknown limit "for": the cluster region does not have it`) {
		t.Errorf("%v", found)
	}
	if err == nil || !strings.Contains(err.Error(), "clusters.global: ") {
		t.Errorf("%v", err)
	}
}
