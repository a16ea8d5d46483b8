package chart

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The image of pods is the one that the release of the chart's version makes.
func TestImageOfTheRelease(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Images []struct{ Images, Tags []string } `json:"dockers_v2"`
	}
	if err := yaml.Unmarshal(text, &made); err != nil || len(made.Images) != 1 {
		t.Fatalf("images of a release: %+v, %v", made, err)
	}
	c := loadChart(t)
	want := made.Images[0].Images[0] + ":" + strings.ReplaceAll(made.Images[0].Tags[0], "{{ .Version }}", c.Metadata.Version)
	all, err := rendering(c, set{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := podsOf(all)
	if err != nil || len(pods) == 0 {
		t.Fatalf("pods: %v, %v", pods, err)
	}
	for _, p := range pods {
		for _, container := range p.containers() {
			if container.Image != want {
				t.Errorf("%s has the image %s, and the release makes %s", container.Name, container.Image, want)
			}
		}
	}
}
