package chart

import (
	"fmt"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chartutil"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsinstall "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalinginstall "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchinstall "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	coreinstall "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkinginstall "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyinstall "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacinstall "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	"sigs.k8s.io/yaml"
)

// strictYAML reads YAML, and refuses fields that are there twice or that the value does not have.
func strictYAML(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) }

// server is what an API server decodes with.
func server() runtime.Decoder {
	s := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme){
		coreinstall.Install, appsinstall.Install, autoscalinginstall.Install, batchinstall.Install, networkinginstall.Install,
		policyinstall.Install, rbacinstall.Install,
	} {
		install(s)
	}
	return serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDecoder()
}

// accepts validates an object as the API server of the newest Kubernetes does.
func accepts(decoder runtime.Decoder, o object) error {
	decoded, _, err := decoder.Decode(o.text, nil, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	fill(decoded, o.GetKind())
	if errs := validate(decoded); len(errs) > 0 {
		return fmt.Errorf("%s: %w", o, errs.ToAggregate())
	}
	return nil
}

// fill does what helm and the API server do to an object before it is validated.
func fill(o runtime.Object, kind string) {
	if m, is := o.(interface{ SetNamespace(namespace string) }); is && !strings.HasPrefix(kind, "ClusterRole") {
		m.SetNamespace(namespace)
	}
	switch o := o.(type) {
	case *core.Service:
		if o.Spec.ClusterIP != "" {
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP}
		}
		if o.Spec.Type == core.ServiceTypeLoadBalancer && o.Spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal {
			o.Spec.HealthCheckNodePort = 32000
		}
	case *batch.Job:
		o.Spec.Selector = &meta.LabelSelector{MatchLabels: o.Spec.Template.Labels}
	}
}

func validate(o runtime.Object) field.ErrorList {
	pods := corevalidation.PodValidationOptions{}
	switch o := o.(type) {
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(o, appsvalidation.StatefulSetValidationOptions{}, pods)
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, pods)
	case *batch.Job:
		return batchvalidation.ValidateJobSpec(&o.Spec, nil, field.NewPath("spec"), pods)
	case *core.Pod:
		return corevalidation.ValidatePodCreate(o, pods)
	case *core.Service:
		return corevalidation.ValidateServiceCreate(o)
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *core.Secret:
		return corevalidation.ValidateSecret(o)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(o)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(o)
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(o, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{})
	case *rbac.ClusterRole:
		return rbacvalidation.ValidateClusterRole(o, rbacvalidation.ClusterRoleValidationOptions{})
	case *rbac.ClusterRoleBinding:
		return rbacvalidation.ValidateClusterRoleBinding(o)
	}
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("%T: no validation is known", o))}
}

func TestServer(t *testing.T) {
	c, decoder := loadChart(t), server()
	for _, s := range sets(t) {
		all, err := rendering(c, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
				continue // TestOperator's
			}
			if err := accepts(decoder, o); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}

// TestTexts has texts that YAML takes for something else, where they are not quoted.
func TestTexts(t *testing.T) {
	values, err := chartutil.ReadValues([]byte(`
nameOverride: "1e3"
fullnameOverride: "y"
image: {repository: "true", tag: "1", pullSecrets: ["123"]}
secrets: {clusterKey: "123", adminTokens: "1e3", gatewayTokens: "null"}
tls: {secret: "0", gatewaySecret: "1.5"}
nodes:
  priorityClassName: "123"
  zone: {from: fixed, value: "a: b"}
  persistence: {storageClass: "yes"}
  nodeSelector: {disk: "1e3"}
  annotations: {example.com/a: "yes"}
  options: {rls-config: "#1: x"}
gateway:
  enabled: true
  priorityClassName: "no"
  secrets: ["123"]
  document: {proxy: {}}
limits: {document: {limits: {"1e3": {capacity: 2000000, refill: "1/s"}}}}
monitoring: {serviceMonitor: {enabled: true}, rules: {enabled: true}, dashboards: {enabled: true}}
networkPolicy: {monitoring: [{namespaceSelector: {}}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := rendering(loadChart(t), set{values: values})
	if err != nil {
		t.Fatal(err)
	}
	decoder, said := server(), ""
	for _, o := range all {
		said += string(o.text)
		if strings.HasPrefix(o.GetAPIVersion(), "monitoring.coreos.com/") {
			continue
		}
		if err := accepts(decoder, o); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{`- "--zone=a: b"`, `- "--rls-config=#1: x"`, `storageClassName: "yes"`, "capacity: 2000000\n", `name: "y"`} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing rendered says %s", want)
		}
	}
}

// TestOperator reads what is for the Prometheus operator as that does.
func TestOperator(t *testing.T) {
	c, monitors, rules := loadChart(t), 0, 0
	for _, s := range sets(t) {
		all, err := rendering(c, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			switch o.GetKind() {
			case "ServiceMonitor":
				var m monitoring.ServiceMonitor
				if err := strictYAML(o.text, &m); err != nil {
					t.Errorf("%s: %s: %v", s.name, o, err)
				}
				monitors++
			case "PrometheusRule":
				var r monitoring.PrometheusRule
				if err := strictYAML(o.text, &r); err != nil {
					t.Errorf("%s: %s: %v", s.name, o, err)
				}
				for _, g := range r.Spec.Groups {
					rules += len(g.Rules)
				}
			}
		}
	}
	if monitors < 3 || rules < 15 {
		t.Errorf("%d ServiceMonitors and %d rules were read", monitors, rules)
	}
}

// A storage class "-" is none, as in other charts: Kubernetes makes no volumes then, and takes those that are there.
func TestNoStorageClass(t *testing.T) {
	for _, o := range renderedWith(t, nil, `nodes: {persistence: {storageClass: "-"}}`) {
		if o.GetKind() == "StatefulSet" && !strings.Contains(string(o.text), "storageClassName: \"\"\n") {
			t.Errorf("it has another storage class:\n%s", o.text)
		}
	}
}
