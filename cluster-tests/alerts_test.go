package clustertests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alertRules is the file of rules that people load.
const alertRules = "../deploy/prometheus/alerts.yaml"

// An alertCase has an alert fire and resolve, by series that have a sample every half minute.
type alertCase struct {
	alert           string
	series          []string // as promtool has them: name{labels} values
	fires, resolves string   // when
	labels          string   // besides the severity, as a=b,c=d
	summary         string
}

// alertCases are one or more of each alert.
var alertCases = []alertCase{
	{"JetonDenialsSpike", []string{`jeton_gateway_limits_total{limit="login", outcome="denied", shadow="false"} 0+0x10 0+60x40 2400+0x60`}, "15m", "35m", "limit=login", "The limit login denies 2 requests a second, far more than before"},
	{"JetonDenialsSpike", []string{`jeton_decisions_total{limit="inner", outcome="denied"} 0+0x10 0+60x40 2400+0x60`}, "15m", "35m", "limit=inner", "The limit inner denies 2 requests a second, far more than before"},
	{"JetonHotKey", []string{`jeton_hot_key_share{instance="a", key="#1"} 0.7x20 stale`}, "5m", "16m", "instance=a,key=#1", "a is asked for one key, #1, by 70% of its checks"},
	{"JetonNearLimit", []string{`jeton_bucket_used_ratio{limit="login", key="#1"} 0.95x20 0.2x20`}, "8m", "12m", "limit=login,key=#1", "The bucket of #1 of the limit login is used by 95%"},
	{"JetonFailOpen", []string{`jeton_gateway_requests_total{instance="g", route="api", outcome="fail_open"} 0+30x20 600+0x20`}, "5m", "15m", "instance=g,route=api", "g lets 1 requests a second of the route api pass without a decision"},
	{"JetonUndecided", []string{`jeton_fallback_undecided_total{instance="g", reason="unavailable"} 0+30x20 600+0x40`, `jeton_fallback_checks_total{instance="g", source="allow"} 0+300x60`}, "9m", "20m", "instance=g", "g gets no decision for 1 checks a second"},
	{"JetonKeysUndecided", []string{`jeton_cluster_undecided_partitions{job="nodes", instance="a"} 7x20 0x20`, `jeton_cluster_undecided_partitions{job="nodes", instance="b"} 3x20 0x20`}, "2m", "12m", "job=nodes", "The keys of 7 partitions cannot be decided, since a majority of their replicas is missing"},
	{"JetonMajorityInDanger", []string{`jeton_cluster_endangered_partitions{job="nodes", instance="a"} 271x20 0x20`}, "5m", "12m", "job=nodes", "271 partitions have lost a replica: if one more is lost, their keys cannot be decided"},
	{"JetonNodeDown", []string{`jeton_cluster_nodes{job="nodes", instance="a"} 3x40`, `jeton_cluster_alive_nodes{job="nodes", instance="a"} 2x20 3x20`}, "5m", "12m", "job=nodes", "1 nodes of the cluster do not answer the others"},
	{
		"JetonClusterDown",
		[]string{
			`up{job="nodes", instance="a"} 1x10 0x20 1x20`, `jeton_cluster_nodes{job="nodes", instance="a"} 2x10 stale`,
			`up{job="nodes", instance="b"} 0x50`, `jeton_cluster_nodes{job="nodes", instance="b"} 2x10 stale`,
			`up{job="others", instance="x"} 0x50`,
		},
		"12m", "17m", "job=nodes", "No node of nodes tells Prometheus anything",
	},
	{"JetonReplicaBehind", []string{`jeton_replica_lost_total{instance="a", node="c"} 0+30x20 600+0x20`}, "8m", "15m", "node=c", "The replica at c does not answer: 1 messages with reservations a second are lost"},
	{"JetonNodeBehind", []string{`jeton_cluster_state_version{job="nodes", instance="a"} 9x40`, `jeton_cluster_state_version{job="nodes", instance="b"} 5x20 9x20`}, "5m", "12m", "job=nodes,instance=b", "b is at version 5 of what the cluster has agreed on, and others are further"},
	{
		"JetonFsyncSlow",
		[]string{
			`jeton_storage_commit_seconds_bucket{instance="a", le="0.1024"} 0x80`, `jeton_storage_commit_seconds_bucket{instance="a", le="0.2048"} 0+30x40 1200+0x40`,
			`jeton_storage_commit_seconds_bucket{instance="a", le="+Inf"} 0+30x40 1200+0x40`,
		},
		"15m", "30m", "instance=a", "One write in a hundred of a takes 203.8ms or longer, with its fsync",
	},
	{"JetonClockOff", []string{`jeton_cluster_clock_offset_seconds{job="nodes", instance="a"} -0.3x20 0.001x20`}, "5m", "12m", "job=nodes,instance=a", "The clock of a differs from those of a majority by 300ms"},
	{"JetonCertificateEnds", []string{`jeton_tls_certificate_expiry_timestamp_seconds{instance="a"} 1123200x40 9999999x20`}, "15m", "25m", "instance=a", "A certificate that a presents ends in 12d 23h 45m 0s"},
	{"JetonCertificateEnds", []string{`jeton_gateway_certificate_expiry_timestamp_seconds{instance="g", field="proxy.tls"} 1123200x40 9999999x20`}, "15m", "25m", "instance=g,field=proxy.tls", "A certificate that g presents ends in 12d 23h 45m 0s"},
	{"JetonUpstreamDown", []string{`jeton_gateway_upstream_up{instance="g", upstream="app", url="http://x"} 0x20 1x20`}, "8m", "12m", "instance=g,upstream=app,url=http://x", "http://x of the upstream app is down: it accepts no connections from g"},
	{"JetonConfigNotInForce", []string{`jeton_gateway_config_current{instance="g"} 0x20 1x20`}, "8m", "12m", "instance=g", "The configuration on the disk of g is not in force"},
	{"JetonShedding", []string{`jeton_gateway_requests_total{instance="g", route="api", outcome="overloaded"} 0+30x20 600+0x40`}, "9m", "20m", "instance=g", "g turns away 1 requests a second: too much is under way"},
}

// quietSeries have no alert fire: a shadow limit denies nothing, whatever nodes say of it; a limit that always denied as much; buckets, clocks, disks and
// nodes as they should be.
var quietSeries = []string{
	`jeton_gateway_limits_total{limit="trial", outcome="denied", shadow="true"} 0+60x300`,
	`jeton_decisions_total{limit="trial", outcome="denied"} 0+60x300`,
	`jeton_gateway_limits_total{limit="steady", outcome="denied", shadow="false"} 0+60x300`,
	`jeton_bucket_used_ratio{limit="login", key="#1"} 0.5x300`,
	`jeton_cluster_clock_offset_seconds{job="nodes", instance="a"} 0.004x300`,
	`jeton_cluster_nodes{job="nodes", instance="a"} 3x300`, `jeton_cluster_alive_nodes{job="nodes", instance="a"} 3x300`,
	`up{job="nodes", instance="a"} 1x300`, `up{job="nodes", instance="c"} 0x300`, `jeton_cluster_nodes{job="nodes", instance="c"} 3 stale`, `up{job="web", instance="w"} 0x300`,
	`jeton_cluster_undecided_partitions{job="nodes", instance="a"} 0x300`, `jeton_cluster_endangered_partitions{job="nodes", instance="a"} 0x300`,
	`jeton_cluster_state_version{job="nodes", instance="a"} 5x300`, `jeton_cluster_state_version{job="others", instance="b"} 9x300`,
	`jeton_fallback_undecided_total{instance="g", reason="slow"} 0+1x300`, `jeton_fallback_checks_total{instance="g", source="cluster"} 0+300x300`,
	`jeton_tls_certificate_expiry_timestamp_seconds{instance="a"} 9999999x300`,
	`jeton_gateway_config_current{instance="g"} 1x300`, `jeton_gateway_upstream_up{instance="g", upstream="app", url="http://x"} 1x300`,
}

// An alertRule is a rule of a file for Prometheus.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// readAlerts are the alerts of alertRules, by name, and all rules.
func readAlerts(t *testing.T) (alerts map[string]alertRule, all []alertRule) {
	t.Helper()
	text, err := os.ReadFile(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) != 1 {
		t.Fatalf("%d groups, %v", len(file.Groups), err)
	}
	alerts = map[string]alertRule{}
	for _, r := range file.Groups[0].Rules {
		if r.Alert != "" {
			alerts[r.Alert] = r
		}
	}
	return alerts, file.Groups[0].Rules
}

// promtool runs promtool. A machine without it fails the test, and says what to install.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Fatalf("promtool is missing: install Prometheus (on Debian: apt-get install prometheus): %v", err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil { //nolint:gosec // the test's own arguments
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlertsFireAndResolve has every alert fire with its words, resolve, and stay silent where nothing is wrong, in promtool's own evaluation.
func TestAlertsFireAndResolve(t *testing.T) {
	alerts, _ := readAlerts(t)
	rules, err := filepath.Abs(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	type expected struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	}
	type check struct {
		At     string     `yaml:"eval_time"`
		Alert  string     `yaml:"alertname"`
		Alerts []expected `yaml:"exp_alerts"`
	}
	type series struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	type unit struct {
		Interval string   `yaml:"interval"`
		Input    []series `yaml:"input_series"`
		Checks   []check  `yaml:"alert_rule_test"`
	}
	input := func(all []string) (in []series) {
		for _, s := range all {
			name, values, _ := strings.Cut(s, "} ")
			in = append(in, series{name + "}", values})
		}
		return in
	}
	quiet, covered, units := unit{Interval: "30s", Input: input(quietSeries)}, map[string]bool{}, []unit(nil)
	for _, c := range alertCases {
		rule, ok := alerts[c.alert]
		if !ok {
			t.Errorf("there is no alert %s", c.alert)
		}
		covered[c.alert] = true
		labels := map[string]string{"severity": rule.Labels["severity"]}
		for pair := range strings.SplitSeq(c.labels, ",") {
			name, value, _ := strings.Cut(pair, "=")
			labels[name] = value
		}
		says := map[string]string{"summary": c.summary, "description": rule.Annotations["description"], "runbook_url": rule.Annotations["runbook_url"]}
		units = append(units, unit{Interval: "30s", Input: input(c.series), Checks: []check{
			{At: "0m", Alert: c.alert}, {At: c.fires, Alert: c.alert, Alerts: []expected{{labels, says}}}, {At: c.resolves, Alert: c.alert},
		}})
	}
	for name := range alerts {
		if !covered[name] {
			t.Errorf("no case has %s fire", name)
		}
		for _, at := range []string{"80m", "100m", "140m"} {
			quiet.Checks = append(quiet.Checks, check{At: at, Alert: name})
		}
	}
	text, err := yaml.Marshal(map[string]any{"rule_files": []string{rules}, "evaluation_interval": "30s", "tests": append(units, quiet)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "units.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", alertRules)
	promtool(t, "test", "rules", file)
}

// TestAlertsAreExplained holds every alert to what a person needs at night: how bad it is, for how long, in words, and a part of the runbook.
func TestAlertsAreExplained(t *testing.T) {
	alerts, _ := readAlerts(t)
	text, err := os.ReadFile("../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(string(text), "\n## ") {
		name, body, _ := strings.Cut(part, "\n")
		parts[name] = body
	}
	for name, rule := range alerts {
		if s := rule.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
			t.Errorf("%s: the severity is %q", name, s)
		}
		if rule.For == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s has no time, no summary or no description", name)
		}
		if want := "https://github.com/jeton-dev/jeton/blob/main/docs/alerts.md#" + strings.ToLower(name); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: the runbook is %q, want %q", name, rule.Annotations["runbook_url"], want)
		}
		body, there := parts[name]
		if !there {
			t.Errorf("docs/alerts.md has no part %s", name)
			continue
		}
		for _, what := range []string{"What it means", "What users see", "Look at", "Do"} {
			if !strings.Contains(body, fmt.Sprintf("- **%s:** ", what)) {
				t.Errorf("docs/alerts.md: %s does not say: %s", name, what)
			}
		}
	}
	for name := range parts {
		if _, there := alerts[name]; strings.HasPrefix(name, "Jeton") && !there {
			t.Errorf("docs/alerts.md explains %s, which is no alert", name)
		}
	}
}
