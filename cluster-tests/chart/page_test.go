package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
)

var (
	ofHelm  = regexp.MustCompile(`(?m)^\$ helm (install|upgrade) (.*)$`)
	ofJeton = regexp.MustCompile(`(?m)^\$ kubectl .* exec .*?-- jeton ([^<>#\n]*)`)
	aFile   = regexp.MustCompile("(?s)<!-- file: ([a-z.-]+) -->\n```yaml\n(.*?)```")
	aValue  = regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| (\\S+) \\|")
)

// TestPage reads the commands of docs/kubernetes.md: those of helm render the chart with what they say, and those of jeton are commands. Values
// that the page lists are there, with the defaults that it shows.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	page, files := string(text), map[string]string{}
	for _, f := range aFile.FindAllStringSubmatch(page, -1) {
		files[f[1]] = f[2]
	}
	lines := ofHelm.FindAllStringSubmatch(page, -1)
	if len(lines) < 4 {
		t.Errorf("the page has %d commands of helm", len(lines))
	}
	for _, line := range lines {
		t.Run(line[0], func(t *testing.T) { rendered(t, line[1] == "upgrade", strings.Fields(line[2]), files) })
	}
	binary, err := jeton()
	if err != nil {
		t.Fatal(err)
	}
	asked := ofJeton.FindAllStringSubmatch(page, -1)
	if len(asked) < 6 {
		t.Errorf("the page has %d commands of jeton", len(asked))
	}
	for _, a := range asked {
		args := strings.Fields(a[1])
		out, err := exec.CommandContext(t.Context(), binary, append(args, "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "jeton "+args[0]+" "+args[1]+" ") {
			t.Errorf("jeton %s: %v: %s", a[1], err, out)
		}
	}
	defaults, err := chartutil.ReadValuesFile(chartDir + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	listed := aValue.FindAllStringSubmatch(page, -1)
	if len(listed) < 20 {
		t.Errorf("the page lists %d values", len(listed))
	}
	for _, v := range listed {
		value, err := defaults.PathValue(v[1])
		if table, failed := defaults.Table(v[1]); failed == nil {
			value, err = table, nil
		}
		shown := map[bool]string{true: "made", false: "none"}[strings.HasPrefix(v[1], "secrets.")]
		if value != "" {
			shown = "`" + jsonOf(t, value) + "`"
		}
		if err != nil || shown != v[2] {
			t.Errorf("%s is %s (%v), and the page says %s", v[1], shown, err, v[2])
		}
	}
}

// rendered renders the chart with what a command line of helm says.
func rendered(t *testing.T, upgrade bool, args []string, files map[string]string) {
	t.Helper()
	values := map[string]any{}
	for i, a := range args {
		switch a {
		case "--values":
			more, err := chartutil.ReadValues([]byte(files[args[i+1]]))
			if err != nil || len(more) == 0 {
				t.Fatalf("the page has no file %s (%v)", args[i+1], err)
			}
			values = chartutil.CoalesceTables(values, more)
		case "--set":
			if err := strvals.ParseInto(args[i+1], values); err != nil {
				t.Fatal(err)
			}
		}
	}
	var there cluster
	if upgrade {
		there = ofNodes(4)
	}
	if _, err := render(loadChart(t), values, there); err != nil {
		t.Error(err)
	}
}

// jsonOf is a value as the page shows it.
func jsonOf(t *testing.T, value any) string {
	t.Helper()
	if text, is := value.(string); is {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
