package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// versions are the oldest Kubernetes that the chart supports and the newest one, with the releases whose schemas are in
// testdata/kubernetes.
var versions = map[string]string{"1.30": "v1.30.14", "1.37": "v1.37.2"}

// kinds are those that the chart may render, with the file that has them in Kubernetes' own tree, and their schemas' names.
var kinds = map[string][2]string{
	"ClusterRole":             {"apis__rbac.authorization.k8s.io__v1", "io.k8s.api.rbac.v1.ClusterRole"},
	"ClusterRoleBinding":      {"apis__rbac.authorization.k8s.io__v1", "io.k8s.api.rbac.v1.ClusterRoleBinding"},
	"ConfigMap":               {"api__v1", "io.k8s.api.core.v1.ConfigMap"},
	"Deployment":              {"apis__apps__v1", "io.k8s.api.apps.v1.Deployment"},
	"HorizontalPodAutoscaler": {"apis__autoscaling__v2", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"},
	"Ingress":                 {"apis__networking.k8s.io__v1", "io.k8s.api.networking.v1.Ingress"},
	"Job":                     {"apis__batch__v1", "io.k8s.api.batch.v1.Job"},
	"NetworkPolicy":           {"apis__networking.k8s.io__v1", "io.k8s.api.networking.v1.NetworkPolicy"},
	"Pod":                     {"api__v1", "io.k8s.api.core.v1.Pod"},
	"PodDisruptionBudget":     {"apis__policy__v1", "io.k8s.api.policy.v1.PodDisruptionBudget"},
	"Secret":                  {"api__v1", "io.k8s.api.core.v1.Secret"},
	"Service":                 {"api__v1", "io.k8s.api.core.v1.Service"},
	"ServiceAccount":          {"api__v1", "io.k8s.api.core.v1.ServiceAccount"},
	"StatefulSet":             {"apis__apps__v1", "io.k8s.api.apps.v1.StatefulSet"},
}

// reference is a place where a schema names another one.
var reference = regexp.MustCompile(`"#/components/schemas/([^"]+)"`)

// TestSchemasAreCurrent takes the schemas from the tree of Kubernetes, with -update: the kinds of the chart, what they refer to, and nothing
// for people to read. It fails where one is missing.
func TestSchemasAreCurrent(t *testing.T) {
	for short, version := range versions {
		path := "testdata/kubernetes/" + short + ".json"
		if !*update {
			compile(t, short)
			continue
		}
		out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output()
		if err != nil {
			t.Fatalf("go mod download: %v: %s", err, out)
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(out, &module); err != nil {
			t.Fatal(err)
		}
		write(t, path, extracted(t, module.Dir))
	}
}

// extracted are the schemas of kinds from a tree of Kubernetes.
func extracted(t *testing.T, dir string) []byte {
	t.Helper()
	all := map[string]json.RawMessage{}
	var wanted []string
	for _, at := range kinds {
		text, err := os.ReadFile(filepath.Join(dir, "api", "openapi-spec", "v3", at[0]+"_openapi.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Components struct{ Schemas map[string]json.RawMessage }
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, file.Components.Schemas)
		wanted = append(wanted, at[1])
	}
	kept := map[string]any{}
	for len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if kept[name] != nil {
			continue
		}
		var s map[string]any
		if err := json.Unmarshal(all[name], &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept[name] = closed(s)
		for _, found := range reference.FindAllSubmatch(all[name], -1) {
			wanted = append(wanted, string(found[1]))
		}
	}
	text, err := json.MarshalIndent(map[string]any{"components": map[string]any{"schemas": kept}}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// closed is a schema without what is for people, and without fields that it does not name.
func closed(s map[string]any) map[string]any {
	for key, value := range s {
		switch v := value.(type) {
		case string:
			if key == "description" || key == "default" {
				delete(s, key)
			}
		case map[string]any:
			if key == "default" {
				delete(s, key)
				break
			}
			if key != "properties" {
				closed(v)
				break
			}
			for _, field := range v {
				closed(field.(map[string]any))
			}
		case []any:
			for _, one := range v {
				if of, is := one.(map[string]any); is {
					closed(of)
				}
			}
		}
		if strings.HasPrefix(key, "x-kubernetes-") {
			delete(s, key)
		}
	}
	if s["properties"] != nil && s["additionalProperties"] == nil {
		s["additionalProperties"] = false
	}
	return s
}

// compile reads the schemas of a version, by kind.
func compile(t *testing.T, version string) map[string]*jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/kubernetes/" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("kubernetes.json", document); err != nil {
		t.Fatal(err)
	}
	all := map[string]*jsonschema.Schema{}
	for kind, at := range kinds {
		if all[kind], err = c.Compile("kubernetes.json#/components/schemas/" + at[1]); err != nil {
			t.Fatalf("Kubernetes %s: %v", version, err)
		}
	}
	return all
}

// conforms says whether an object is one that a Kubernetes with these schemas takes.
func conforms(o object, schemas map[string]*jsonschema.Schema) error {
	s := schemas[o.GetKind()]
	if s == nil {
		return fmt.Errorf("%s: the chart renders a kind that these tests have no schema of", o)
	}
	text, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := s.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	return nil
}

func TestSchemas(t *testing.T) {
	c := loadChart(t)
	for version := range versions {
		schemas := compile(t, version)
		for _, s := range sets(t) {
			all, err := rendering(c, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range all {
				if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
					continue // TestOperator's
				}
				if err := conforms(o, schemas); err != nil {
					t.Errorf("Kubernetes %s, %s: %v", version, s.name, err)
				}
			}
		}
	}
}
