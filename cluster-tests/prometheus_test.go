package clustertests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// watchedLimits are those of a site that Prometheus watches: one of the gateway, and others that nodes are asked about.
const watchedLimits = `
limits:
  api:    {capacity: 60, refill: 1/s, on_unavailable: allow}
  direct: {capacity: 20, refill: 10/s, gauges: 3}
  tokens: {capacity: 100000, refill: 100/s, hold: 10m}
`

// A watched is a Prometheus that scrapes a site, with the rules of deploy/prometheus.
type watched struct {
	*site
	gateway *gatewayProcess
	server  *process.Node
	address string
}

// shorter are the times of the rules as a test can wait for them: it evaluates them every second.
var shorter = strings.NewReplacer("[5m]", "[10s]", "[1m]", "[10s]", "[1h]", "[10m]", "offset 5m", "offset 10s")

// watch starts a site of three nodes and a gateway, and a Prometheus that scrapes them every second.
func watch(t *testing.T) *watched {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("prometheus is missing: install it (on Debian: apt-get install prometheus): %v", err)
	}
	w := &watched{site: newSiteWith(t, 3, watchedLimits), address: loopback(t)}
	w.gateway = w.startGateway("proxy.yaml")
	rules, err := os.ReadFile(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("alerts.yaml", regexp.MustCompile(`for: \w+`).ReplaceAllString(shorter.Replace(string(rules)), "for: 1s"))
	var nodes []string
	for _, m := range w.cluster.Members {
		nodes = append(nodes, m.HTTP)
	}
	config := write("prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
  - {job_name: jeton, static_configs: [{targets: [%s]}]}
  - {job_name: jeton-gateway, static_configs: [{targets: [%q]}]}
`, `"`+strings.Join(nodes, `", "`)+`"`, w.gateway.admin))
	promtool(t, "check", "config", config)
	w.server = process.Launch(t, program, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", w.address, "--enable-feature=exemplar-storage")
	w.server.WaitForLog("Server is ready to receive web requests")
	return w
}

// asked is the data of an answer of Prometheus' API.
func (w *watched) asked(path string, into any) {
	w.Helper()
	_, body, err := w.get("http://" + w.address + "/api/v1/" + path)
	if err != nil {
		w.Fatal(err)
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Status != "success" {
		w.Errorf("%s: %s %v", path, body, err)
	}
}

// firing are the names of the alerts that fire.
func (w *watched) firing() (names []string) {
	w.Helper()
	var all struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	w.asked("alerts", &all)
	for _, a := range all.Alerts {
		if a.State == "firing" && !slices.Contains(names, a.Labels["alertname"]) {
			names = append(names, a.Labels["alertname"])
		}
	}
	return names
}

// mostWaited is for how long an alert may take: a machine that stalls must not fail the test.
const mostWaited = process.Patience

// all waits until each of the alerts has fired, or, if they are to resolve, until none of them fires.
func (w *watched) all(fire bool, alerts ...string) {
	w.Helper()
	met := map[string]bool{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(mostWaited); ; <-tick.C {
		firing, n := w.firing(), 0
		for _, a := range alerts {
			if slices.Contains(firing, a) == fire {
				met[a] = true
			} else if !fire {
				met[a] = false
			}
			if met[a] {
				n++
			}
		}
		if n == len(alerts) {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("of %q, to fire %v, these have been so: %v; firing are %q", alerts, fire, met, firing)
		}
	}
}

// keepAsking has some callers ask until stop is called. What they are answered does not matter.
func (w *watched) keepAsking(callers int, method, address, path, body string, header http.Header) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
				if err != nil {
					return
				}
				r.Header = header.Clone()
				if a, err := w.client.Do(r); err == nil {
					a.Body.Close()
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// TestPrometheus has a real Prometheus watch a cluster of processes and its gateway, and provokes what is cheap to provoke: each of these alerts fires and
// resolves. While all is well, it answers the queries of all dashboards, and every metric and label that these and the alerts ask for is in a scrape.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	w := watch(t)
	first := w.cluster.Members[0]
	w.use(first.HTTP)

	stop := w.keepAsking(4, http.MethodPost, first.HTTP, "/v1/check", `{"key": "user:1", "limits": ["direct"]}`, nil)
	w.all(true, "JetonDenialsSpike", "JetonHotKey", "JetonNearLimit")
	w.dashboards()
	stop()
	w.all(false, "JetonDenialsSpike", "JetonHotKey", "JetonNearLimit")

	stop = w.keepAsking(1, http.MethodGet, w.gateway.proxy, "/v1/items", "", http.Header{"X-Api-Key": {siteKey}})
	defer func() { stop() }()
	w.cluster.Members[1].Kill()
	w.all(true, "JetonNodeDown", "JetonMajorityInDanger")
	w.cluster.Members[2].Kill()
	w.all(true, "JetonKeysUndecided", "JetonUndecided", "JetonFailOpen")
	_, page, err := w.get("http://" + w.gateway.admin + "/metrics")
	if found := map[string]map[string]bool{}; err != nil {
		t.Error(err)
	} else if collectSeries(page, found); !found["jeton_gateway_fail_open_total"]["limit"] {
		t.Error("the gateway lets requests pass, and does not count them by limit")
	}
	for _, m := range w.cluster.Members[1:] {
		m.Launch()
	}
	for _, m := range w.cluster.Members[1:] {
		m.Ready()
	}
	w.all(false, "JetonNodeDown", "JetonMajorityInDanger", "JetonKeysUndecided", "JetonUndecided", "JetonFailOpen")
}

// use has a node and the gateway do a little of everything that dashboards show.
func (w *watched) use(node string) {
	w.Helper()
	key := http.Header{"X-Api-Key": {siteKey}}
	for range siteCapacity + 10 {
		w.send(http.MethodGet, w.gateway.proxy, "/v1/items", "", key)
	}
	if a := w.send(http.MethodPost, node, "/v1/check", `{"key": "user:1", "limits": ["no-such-limit"]}`, nil); a.status != http.StatusNotFound {
		w.Fatalf("a check of a limit that there is not is answered %d %s", a.status, a.body)
	}
	a := w.send(http.MethodPost, node, "/v1/hold", `{"key": "user:1", "limits": ["tokens"], "cost": 10, "for": "60s"}`, nil)
	var held struct{ Hold string }
	if err := json.Unmarshal([]byte(a.body), &held); err != nil || held.Hold == "" {
		w.Fatalf("no hold in %s: %v", a.body, err)
	}
	if a := w.send(http.MethodPost, node, "/v1/settle", fmt.Sprintf(`{"hold": %q, "cost": 4}`, held.Hold), nil); a.status != http.StatusOK {
		w.Fatalf("a settlement is answered %d %s", a.status, a.body)
	}
}

// dashboards asks Prometheus for what each panel of deploy/grafana asks, and looks for the metrics and labels in scrapes of all processes.
func (w *watched) dashboards() {
	w.Helper()
	queries := queriesOf(w.T)
	for where, query := range queries {
		var result any
		w.asked("query?query="+url.QueryEscape(query), &result)
		if w.Failed() {
			w.Fatalf("this is what %s asks", where)
		}
	}
	found := map[string]map[string]bool{} // the labels, by metric
	for _, address := range append([]string{w.gateway.admin}, w.httpAddresses()...) {
		_, page, err := w.get("http://" + address + "/metrics")
		if err != nil {
			w.Fatal(err)
		}
		collectSeries(page, found)
	}
	_, rules := readAlerts(w.T)
	for _, r := range rules {
		queries["rule "+r.Alert+r.Record] = r.Expr
	}
	if len(queries) < 60 {
		w.Errorf("there are %d queries only", len(queries))
	}
	for where, query := range queries {
		for _, problem := range unknownIn(query, found) {
			w.Errorf("%s asks %s: %s", where, query, problem)
		}
	}
}

func (w *watched) httpAddresses() (all []string) {
	for _, m := range w.cluster.Members {
		all = append(all, m.HTTP)
	}
	return all
}
