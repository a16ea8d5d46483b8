package chart

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// subchart renders the chart as a part of another one, which has a condition for it.
func subchart(t *testing.T, text string) ([]object, error) {
	t.Helper()
	parent := &chart.Chart{Metadata: &chart.Metadata{
		APIVersion: "v2", Name: "parent", Version: "1.0.0",
		Dependencies: []*chart.Dependency{{Name: "jeton", Version: "*", Condition: "jeton.enabled"}},
	}}
	parent.AddDependency(loadChart(t))
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := chartutil.ProcessDependenciesWithMerge(parent, values); err != nil {
		t.Fatal(err)
	}
	caps := *chartutil.DefaultCapabilities
	caps.KubeVersion = chartutil.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	all, err := chartutil.ToRenderValues(parent, values, chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true}, &caps)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.RenderWithClientProvider(parent, all, cluster(nil))
	if err != nil {
		return nil, err
	}
	return objects(rendered)
}

func TestSubchart(t *testing.T) {
	all, err := subchart(t, `
global: {imageRegistry: registry.example.com/mirror/, imagePullSecrets: [one, {name: two}], other: 1}
jeton: {enabled: true, image: {pullSecrets: [{name: two}, three]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := podsOf(all)
	if err != nil || len(pods) == 0 {
		t.Fatalf("pods: %v, %v", pods, err)
	}
	for _, p := range pods {
		var secrets []string
		for _, s := range p.spec.ImagePullSecrets {
			secrets = append(secrets, s.Name)
		}
		if want := []string{"one", "two", "three"}; !slices.Equal(secrets, want) {
			t.Errorf("%s pulls with %q, want %q", p, secrets, want)
		}
		if image := p.spec.Containers[0].Image; !strings.HasPrefix(image, "registry.example.com/mirror/jeton-dev/jeton:") {
			t.Errorf("%s has the image %s", p, image)
		}
	}
	if all, err := subchart(t, "jeton: {enabled: false}"); err != nil || len(all) > 0 {
		t.Errorf("left out, it renders %v, %v", all, err)
	}
	if all, err := subchart(t, "global: {imageRegistry: , imagePullSecrets: }\njeton: {enabled: true}"); err != nil || len(all) == 0 {
		t.Errorf("with empty values of its parent it renders %v, %v", all, err)
	}
}
