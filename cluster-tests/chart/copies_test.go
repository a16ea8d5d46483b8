package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCopiesAreCurrent compares the files of the chart that are elsewhere in the tree: helm packs nothing that is not in the chart.
func TestCopiesAreCurrent(t *testing.T) {
	files := map[string]string{"../../deploy/prometheus/alerts.yaml": "files/alerts.yaml"}
	dashboards, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(dashboards) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, d := range dashboards {
		files[d] = "files/dashboards/" + filepath.Base(d)
	}
	for from, to := range files {
		want, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(chartDir, to)
		if *update {
			write(t, path, want)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what %s is (%v): make generate writes it anew", path, from, err)
		}
	}
	copies, err := filepath.Glob(chartDir + "/files/dashboards/*.json")
	if err != nil || len(copies) != len(dashboards) {
		t.Errorf("the chart has %d dashboards (%v), and deploy/grafana %d", len(copies), err, len(dashboards))
	}
}
