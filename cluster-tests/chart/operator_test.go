package chart

import (
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	core "k8s.io/api/core/v1"
)

// operators are the pods of Jobs and of helm test, of a chart that renders all of them.
func operators(t *testing.T, more string) (found []podOf) {
	t.Helper()
	pods, err := podsOf(renderedWith(t, ofNodes(5), "limits: {apply: true, document: {limits: {}}}", more))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		if p.labels["app.kubernetes.io/component"] == "operator" {
			found = append(found, p)
		}
	}
	if len(found) != 4 {
		t.Fatalf("%d pods ask nodes and end, want those of a drain, a removal, limits and a test", len(found))
	}
	return found
}

// renderedWith are the objects of the chart with all of these values.
func renderedWith(t *testing.T, there cluster, texts ...string) []object {
	t.Helper()
	all, err := tryWith(t, there, texts...)
	if err != nil {
		t.Fatalf("%s: %v", texts, err)
	}
	return all
}

// tryWith is renderedWith, of values that may be refused.
func tryWith(t *testing.T, there cluster, texts ...string) ([]object, error) {
	t.Helper()
	values := map[string]any{}
	for _, text := range texts {
		more, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		values = chartutil.CoalesceTables(values, more)
	}
	return rendering(loadChart(t), set{values: values, there: there})
}

// The pods of a Job that failed are there to be read: Kubernetes deletes one that it starts again and again, when the Job has failed.
func TestFailedJobsKeepTheirPods(t *testing.T) {
	for _, p := range operators(t, "") {
		if p.spec.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%s starts its containers again: %s", p, p.spec.RestartPolicy)
		}
	}
}

// Where nodes may run, what drains them may: a Job that waits for a machine holds a whole upgrade.
func TestOperatorsRunWhereNodesDo(t *testing.T) {
	for _, p := range operators(t, `
nodes:
  priorityClassName: high
  nodeSelector: {disk: fast}
  tolerations: [{key: dedicated, operator: Equal, value: jeton, effect: NoSchedule}]
operator: {labels: {sidecar.istio.io/inject: "false"}, annotations: {example.com/owner: platform}}
`) {
		tolerated := len(p.spec.Tolerations) == 1 && p.spec.Tolerations[0] == core.Toleration{Key: "dedicated", Operator: "Equal", Value: "jeton", Effect: "NoSchedule"}
		if !tolerated || p.spec.NodeSelector["disk"] != "fast" || p.spec.PriorityClassName != "high" {
			t.Errorf("%s does not run where nodes do: %v %v %q", p, p.spec.NodeSelector, p.spec.Tolerations, p.spec.PriorityClassName)
		}
		if p.labels["sidecar.istio.io/inject"] != "false" || p.annotations["example.com/owner"] != "platform" {
			t.Errorf("%s has the labels %v and the annotations %v", p, p.labels, p.annotations)
		}
	}
}

// OpenShift gives pods a user and groups of its own, and refuses others.
func TestUserOfPods(t *testing.T) {
	all := renderedWith(t, nil, `
podSecurityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}
securityContext: {readOnlyRootFilesystem: false}
gateway: {enabled: true, document: {proxy: {}}}
nodes: {zone: {from: node, image: kubectl}}
`)
	pods, err := podsOf(all)
	if err != nil || len(pods) != 3 {
		t.Fatalf("pods: %v, %v", pods, err)
	}
	for _, p := range pods {
		s := p.spec.SecurityContext
		if s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot {
			t.Errorf("%s: %+v", p, s)
		}
		for _, c := range p.containers() {
			if s := c.SecurityContext; *s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 {
				t.Errorf("%s: %s: %+v", p, c.Name, s)
			}
		}
		if err := accepts(server(), p.object); err != nil {
			t.Error(err)
		}
	}
}

// An affinity of the values stands beside the rule that no two nodes run on one machine; a podAntiAffinity of its own replaces the rule.
func TestAffinity(t *testing.T) {
	const where = "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}"
	const apart = "podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: rack}}]}"
	for _, w := range []struct {
		nodes               string
		required, preferred int
	}{
		{"affinity: {" + where + "}", 1, 0},
		{"antiAffinity: preferred, affinity: {" + where + "}", 0, 1},
		{"antiAffinity: none, affinity: {" + where + "}", 0, 0},
		{"affinity: {" + where + ", " + apart + "}", 0, 1},
	} {
		pods, err := podsOf(renderedWith(t, nil, "nodes: {"+w.nodes+"}\ngateway: {enabled: true, document: {proxy: {}}, affinity: {"+where+"}}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pods {
			a := p.spec.Affinity
			if p.GetKind() == "Pod" {
				continue
			}
			if a == nil || a.NodeAffinity == nil {
				t.Errorf("%s: %s runs anywhere: %v", w.nodes, p, a)
				continue
			}
			required, preferred := 0, 0
			if a.PodAntiAffinity != nil {
				required, preferred = len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution), len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
			}
			if p.GetKind() == "StatefulSet" && (required != w.required || preferred != w.preferred) {
				t.Errorf("%s: %d rules that nodes run apart, and %d wishes; want %d and %d", w.nodes, required, preferred, w.required, w.preferred)
			}
			if err := accepts(server(), p.object); err != nil {
				t.Errorf("%s: %v", w.nodes, err)
			}
		}
	}
}
