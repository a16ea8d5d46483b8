package chart

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

var update = flag.Bool("update", false, "write the golden files, the schemas, and the chart's copies")

// chartDir is the chart.
const chartDir = "../../deploy/helm/jeton"

// namespace and release are those of every rendered chart.
const (
	namespace = "limits"
	release   = "jeton"
)

// loadChart reads the chart from the tree.
func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A cluster is what is in Kubernetes already when the chart is rendered.
type cluster []*unstructured.Unstructured

// GetClientFor implements engine.ClientProvider.
func (c cluster) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	group, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, false, err
	}
	var there []runtime.Object
	for _, o := range c {
		if o.GetKind() == kind {
			there = append(there, o)
		}
	}
	resource := group.WithResource(strings.ToLower(kind) + "s")
	kinds := map[schema.GroupVersionResource]string{resource: kind + "List"}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, there...).Resource(resource), true, nil
}

// ofNodes is a cluster in which so many nodes run.
func ofNodes(n int64) cluster {
	there := func(apiVersion, kind, name, field string, value any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}, field: value,
		}}
	}
	return cluster{
		there("apps/v1", "StatefulSet", "jeton", "spec", map[string]any{"replicas": n}),
		there("v1", "Secret", "jeton-cluster-key", "data", map[string]any{"cluster.key": "a2V5"}),
		there("v1", "Secret", "jeton-admin-tokens", "data", map[string]any{"tokens": "dG9rZW4="}),
		there("v1", "Secret", "jeton-gateway-tokens", "data", map[string]any{"tokens": "dG9rZW4="}),
	}
}

// render renders the chart as helm install does, or helm upgrade where something is there. The text is that of each template.
func render(c *chart.Chart, values map[string]any, there cluster) (map[string]string, error) {
	caps := *chartutil.DefaultCapabilities
	caps.KubeVersion = chartutil.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: len(there) == 0, IsUpgrade: len(there) > 0}
	all, err := chartutil.ToRenderValues(c, values, options, &caps)
	if err != nil {
		return nil, err
	}
	return engine.RenderWithClientProvider(c, all, there)
}

// A set is values with what is in Kubernetes when they are rendered.
type set struct {
	name   string
	values map[string]any
	there  cluster
}

// sets are those of testdata/sets.
func sets(t *testing.T) (all []set) {
	t.Helper()
	paths, err := filepath.Glob("testdata/sets/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 10 {
		t.Fatalf("there are %d sets of values, want ten", len(paths))
	}
	for _, path := range paths {
		s := set{name: strings.TrimSuffix(filepath.Base(path), ".yaml")}
		if s.values, err = chartutil.ReadValuesFile(path); err != nil {
			t.Fatal(err)
		}
		switch s.name {
		case "shrinking":
			s.there = ofNodes(5)
		case "founded":
			s.there = ofNodes(7)
		}
		all = append(all, s)
	}
	return all
}

// An object is one of a rendered chart.
type object struct {
	*unstructured.Unstructured

	text []byte
}

// String names it.
func (o object) String() string { return o.GetKind() + " " + o.GetName() }

// objects reads what was rendered, in the order of the templates.
func objects(rendered map[string]string) (all []object, err error) {
	for _, path := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(path, ".txt") {
			continue
		}
		documents := utilyaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(rendered[path])))
		buffer := make([]byte, 8<<20)
		for {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			text := bytes.Clone(buffer[:n])
			o := object{Unstructured: &unstructured.Unstructured{}, text: text}
			if err := strictYAML(text, &o.Object); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", path, err, text)
			}
			if len(o.Object) > 0 {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// rendering is objects of render.
func rendering(c *chart.Chart, s set) ([]object, error) {
	text, err := render(c, s.values, s.there)
	if err != nil {
		return nil, err
	}
	return objects(text)
}

// write writes a file of testdata, or of the chart.
func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // it is for everybody
		t.Fatal(err)
	}
}
