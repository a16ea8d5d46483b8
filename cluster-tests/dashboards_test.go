package clustertests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rarely are metrics that need more than a small cluster has: their names are looked for in the code.
var rarely = map[string]string{
	"jeton_leases_total":                                 "an edge asks for a lease",
	"jeton_gateway_fail_open_total":                      "a limit that allows without the cluster",
	"jeton_gateway_fail_closed_total":                    "a limit that denies without the cluster",
	"jeton_shed_total":                                   "a node is short of memory",
	"jeton_replica_lost_total":                           "a replica does not answer",
	"jeton_reservation_refusals_total":                   "a replica refuses",
	"jeton_tls_certificate_expiry_timestamp_seconds":     "a node has a certificate",
	"jeton_gateway_certificate_expiry_timestamp_seconds": "a gateway has a certificate",
}

// targetLabels are those that Prometheus adds, and that of buckets.
var targetLabels = map[string]bool{"job": true, "instance": true, "le": true}

// variables are those of the dashboards, with values by which their queries find everything.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*", "$limit", ".*", "$route", ".*")

// A dashboard is one file of deploy/grafana, as far as tests look at it.
type dashboard struct {
	UID, Title, Description string
	Annotations             struct{ List []struct{ Expr string } }
	Templating              struct {
		List []struct{ Name, Type, Query string }
	}
	Links  []struct{ Type string }
	Panels []struct {
		Title, Description, Type string
		FieldConfig              struct{ Defaults struct{ Unit string } }
		Targets                  []struct {
			Expr     string
			Exemplar bool
		}
	}
}

// readDashboards are all dashboards, by the names of their files.
func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("../deploy/grafana/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

// queriesOf are the queries of all dashboards, by where they stand, with values in the place of variables.
func queriesOf(t *testing.T) map[string]string {
	t.Helper()
	queries := map[string]string{}
	for file, d := range readDashboards(t) {
		for i, a := range d.Annotations.List {
			queries[fmt.Sprintf("%s: annotation %d", file, i)] = variables.Replace(a.Expr)
		}
		for _, p := range d.Panels {
			for i, target := range p.Targets {
				queries[fmt.Sprintf("%s: %s, query %d", file, p.Title, i)] = variables.Replace(target.Expr)
			}
		}
		for _, v := range d.Templating.List {
			if asked, ok := strings.CutPrefix(v.Query, "label_values("); ok {
				metric, label, _ := strings.Cut(strings.TrimSuffix(asked, ")"), ", "+v.Name)
				queries[file+": variable "+v.Name] = variables.Replace("count by (" + v.Name + ") (" + metric + label + ")")
			}
		}
	}
	return queries
}

var (
	selector = regexp.MustCompile(`\b((?:jeton|process)_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	sample   = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? `)
)

// collectSeries adds the metrics of a scrape, each with its labels. Of a histogram, the series are those of its buckets, its sum and its count.
func collectSeries(page string, found map[string]map[string]bool) {
	for _, m := range sample.FindAllStringSubmatch(page, -1) {
		if found[m[1]] == nil {
			found[m[1]] = map[string]bool{}
		}
		for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
			found[m[1]][label[1]] = true
		}
	}
}

// unknownIn is what is wrong with a query: a metric or a label that was not found, or a grouping by a label that no metric of the query has.
func unknownIn(query string, found map[string]map[string]bool) (problems []string) {
	labels, rare := map[string]bool{}, false
	plain := grouping.ReplaceAllString(query, "")
	for _, m := range selector.FindAllStringSubmatch(plain, -1) {
		if rarely[m[1]] != "" && found[m[1]] == nil {
			rare = true
			if !exportedInCode(m[1]) {
				problems = append(problems, "nothing exports "+m[1])
			}
			continue
		}
		of, ok := found[m[1]]
		if !ok {
			problems = append(problems, "nothing exports "+m[1])
			continue
		}
		for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !of[label[1]] && !targetLabels[label[1]] {
				problems = append(problems, m[1]+" has no label "+label[1])
			}
		}
		for label := range of {
			labels[label] = true
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			if label = strings.TrimSpace(label); !labels[label] && !targetLabels[label] && !rare && !strings.HasPrefix(query, "jeton:") && label != "" {
				problems = append(problems, "no metric of it has the label "+label)
			}
		}
	}
	return problems
}

// exportedInCode says whether a metric of that name is made anywhere in the code.
func exportedInCode(name string) bool {
	out, err := exec.Command("git", "grep", "-l", `"`+name+`"`, "--", ":(top)*.go", ":(top,exclude)*_test.go").Output() //nolint:gosec,noctx // one of the names above
	return err == nil && len(bytes.TrimSpace(out)) > 0
}

// TestDashboardsAreComplete holds dashboards to what makes them of use: every panel says in words what it shows, has a unit and a query; latencies
// show traces; the data source and what is shown can be picked; and each leads to the others.
func TestDashboardsAreComplete(t *testing.T) {
	uids := map[string]bool{}
	for file, d := range readDashboards(t) {
		if uids[d.UID] || d.UID == "" || d.Title == "" || d.Description == "" || len(d.Links) == 0 || len(d.Annotations.List) == 0 {
			t.Errorf("%s: the uid %q, the title %q, %d links, %d annotations", file, d.UID, d.Title, len(d.Links), len(d.Annotations.List))
		}
		uids[d.UID] = true
		if len(d.Templating.List) < 3 || d.Templating.List[0].Type != "datasource" {
			t.Errorf("%s has the variables %+v", file, d.Templating.List)
		}
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			if p.Title == "" || len(p.Description) < 10 || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: the panel %q has no description, no unit or no query", file, p.Title)
			}
			for _, target := range p.Targets {
				if want := p.Type == "timeseries" && p.FieldConfig.Defaults.Unit == "s"; target.Exemplar != want {
					t.Errorf("%s: %s: exemplars %v, want %v", file, p.Title, target.Exemplar, want)
				}
				if strings.Contains(target.Expr, "_seconds_bucket") && !strings.Contains(target.Expr, "by (le") {
					t.Errorf("%s: %s: %s", file, p.Title, target.Expr)
				}
			}
		}
	}
}

// TestUnknownInQueries has the check of queries find a metric that was renamed, a label, and a grouping.
func TestUnknownInQueries(t *testing.T) {
	found := map[string]map[string]bool{}
	collectSeries("# HELP jeton_a_total x\njeton_a_total{limit=\"x\",outcome=\"denied\"} 4\njeton_b 1\n", found)
	for query, want := range map[string]string{
		`sum by (limit, instance) (rate(jeton_a_total{outcome="denied", job=~".*"}[5m]))`: "",
		`jeton_b`: "",
		`sum by (limit) (rate(jeton_c_total[5m]))`:            "nothing exports jeton_c_total",
		`rate(jeton_a_total{other="x"}[5m])`:                  "jeton_a_total has no label other",
		`sum by (node) (rate(jeton_a_total[5m]))`:             "no metric of it has the label node",
		`jeton_b < on (node) group_left () jeton_a_total > 1`: "no metric of it has the label node",
	} {
		if got := strings.Join(unknownIn(query, found), "; "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
