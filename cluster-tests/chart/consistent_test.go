package chart

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
)

// stops is how many seconds a pod needs after preStop: five for calls in flight, and twenty more.
const stops = 25

// consistent says what the objects of a chart say of one another that is not so.
func consistent(all []object, routes map[string]bool) error {
	pods, err := podsOf(all)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pods {
		errs = append(errs, private(p), mounted(p), probed(p, routes), ending(p), separate(p, pods))
	}
	for _, o := range all {
		switch o.GetKind() {
		case "Service":
			errs = append(errs, served(o, pods), published(o, pods))
		case "NetworkPolicy":
			errs = append(errs, closedPorts(o, pods))
		case "Ingress":
			errs = append(errs, leads(o, all))
		case "PodDisruptionBudget":
			errs = append(errs, budgeted(o, pods))
		case "HorizontalPodAutoscaler":
			if kind := textAt(o, "spec", "scaleTargetRef", "kind"); kind != "Deployment" {
				errs = append(errs, fmt.Errorf("%s scales a %s: nodes are never scaled by what is measured", o, kind))
			}
		}
	}
	return errors.Join(errs...)
}

// private says what a pod may that it need not.
func private(p podOf) (err error) {
	wrong := func(what string) { err = errors.Join(err, fmt.Errorf("%s: %s", p, what)) }
	is := func(b *bool, want bool) bool { return b != nil && *b == want }
	if !is(p.spec.AutomountServiceAccountToken, false) {
		wrong("its pods have a token of the API server")
	}
	if !is(p.spec.EnableServiceLinks, false) {
		wrong("its pods have variables of Services, which jeton reads as options")
	}
	s := p.spec.SecurityContext
	if s == nil || !is(s.RunAsNonRoot, true) || s.RunAsUser == nil || *s.RunAsUser == 0 || s.FSGroup == nil || s.SeccompProfile == nil || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		wrong("its pods may be root, or call what the kernel has")
	}
	for _, c := range p.containers() {
		s := c.SecurityContext
		if s == nil || !is(s.AllowPrivilegeEscalation, false) || !is(s.ReadOnlyRootFilesystem, true) || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
			wrong("container " + c.Name + " may more than it needs")
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			wrong("container " + c.Name + " asks for no processor, or has no bound of memory")
		}
	}
	return err
}

// named finds files and folders in command lines.
var named = regexp.MustCompile(`/(?:etc|var/lib)/jeton[^ ,"]*`)

// mounted says which files of a pod's command lines are on none of its volumes.
func mounted(p podOf) (err error) {
	known := slices.Clone(p.claimed)
	for _, v := range p.spec.Volumes {
		known = append(known, v.Name)
		if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) {
			err = errors.Join(err, fmt.Errorf("%s: others may read volume %s, which jeton refuses", p, v.Name))
		}
	}
	for _, c := range p.containers() {
		var paths []string
		for _, m := range c.VolumeMounts {
			if !slices.Contains(known, m.Name) {
				err = errors.Join(err, fmt.Errorf("%s: there is no volume %s", p, m.Name))
			}
			if !slices.Contains(p.claimed, m.Name) && !m.ReadOnly && m.Name != "zone" {
				err = errors.Join(err, fmt.Errorf("%s: volume %s can be written", p, m.Name))
			}
			paths = append(paths, m.MountPath+"/")
		}
		said := slices.Clone(c.Args)
		for _, e := range c.Env {
			said = append(said, e.Value)
		}
		for _, path := range named.FindAllString(strings.Join(said, " "), -1) {
			if !slices.ContainsFunc(paths, func(at string) bool { return strings.HasPrefix(path+"/", at) }) {
				err = errors.Join(err, fmt.Errorf("%s: %s is on no volume", p, path))
			}
		}
	}
	return err
}

// probed says which probes ask for what is not served.
func probed(p podOf, routes map[string]bool) (err error) {
	for _, c := range p.spec.Containers {
		for what, probe := range map[string]*core.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			if p.GetKind() != "StatefulSet" && p.GetKind() != "Deployment" {
				continue
			}
			if probe == nil || probe.HTTPGet == nil {
				err = errors.Join(err, fmt.Errorf("%s has no %s probe over HTTP", p, what))
				continue
			}
			if _, there := p.port(probe.HTTPGet.Port.StrVal); !there {
				err = errors.Join(err, fmt.Errorf("%s: the %s probe asks at %q, which is no port", p, what, probe.HTTPGet.Port.StrVal))
			}
			if !routes[probe.HTTPGet.Path] {
				err = errors.Join(err, fmt.Errorf("%s: the %s probe asks for %s, which is not served", p, what, probe.HTTPGet.Path))
			}
			if want := "/livez"; (probe.HTTPGet.Path == want) == (what == "readiness") {
				err = errors.Join(err, fmt.Errorf("%s: the %s probe asks for %s", p, what, probe.HTTPGet.Path))
			}
		}
	}
	return err
}

// ending says whether a pod has too little time to end.
func ending(p podOf) error {
	for _, c := range p.spec.Containers {
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
			if p.GetKind() == "StatefulSet" || p.GetKind() == "Deployment" {
				return fmt.Errorf("%s: a pod ends before Kubernetes has taken it out of its Service", p)
			}
			continue
		}
		if grace := p.spec.TerminationGracePeriodSeconds; grace == nil || *grace < c.Lifecycle.PreStop.Sleep.Seconds+stops {
			return fmt.Errorf("%s: a pod has %v seconds to end, and sleeps %d of them", p, *grace, c.Lifecycle.PreStop.Sleep.Seconds)
		}
	}
	return nil
}

// served says which ports of a Service lead nowhere.
func served(o object, pods []podOf) (err error) {
	var s core.Service
	if err := strictYAML(o.text, &s); err != nil {
		return err
	}
	to := selected(pods, s.Spec.Selector)
	if len(to) != 1 {
		return fmt.Errorf("%s selects the pods of %d objects", o, len(to))
	}
	for _, port := range s.Spec.Ports {
		at, there := to[0].port(port.TargetPort.StrVal)
		if !there {
			err = errors.Join(err, fmt.Errorf("%s: %s has no port %q", o, to[0], port.TargetPort.StrVal))
		}
		if port.Name != "proxy" && port.Port != at {
			err = errors.Join(err, fmt.Errorf("%s: port %s is %d, and that of the pods is %d", o, port.Name, port.Port, at))
		}
	}
	if governs := to[0].GetKind() == "StatefulSet" && s.Spec.ClusterIP == core.ClusterIPNone; governs {
		if name := textAt(to[0].object, "spec", "serviceName"); name != s.Name || !s.Spec.PublishNotReadyAddresses {
			err = errors.Join(err, fmt.Errorf("%s: nodes do not find each other before they are ready", o))
		}
	}
	return err
}

// published says what of a gateway a Service shows to the outside of Kubernetes, beside the proxy.
func published(o object, pods []podOf) (err error) {
	var s core.Service
	if err := strictYAML(o.text, &s); err != nil {
		return err
	}
	if s.Spec.Type == core.ServiceTypeClusterIP || s.Spec.ClusterIP == core.ClusterIPNone || selected(pods, s.Spec.Selector)[0].GetKind() != "Deployment" {
		return nil
	}
	for _, port := range s.Spec.Ports {
		if port.Name != "proxy" {
			err = errors.Join(err, fmt.Errorf("%s, of type %q, publishes the port %s", o, s.Spec.Type, port.Name))
		}
	}
	return err
}

// leads says which paths of an Ingress lead to no Service, or to another port than the proxy's.
func leads(o object, all []object) (err error) {
	var i networking.Ingress
	if err := strictYAML(o.text, &i); err != nil {
		return err
	}
	for _, rule := range i.Spec.Rules {
		for _, path := range rule.HTTP.Paths {
			to := path.Backend.Service
			if to.Port.Name != "proxy" || !slices.ContainsFunc(all, func(s object) bool { return s.GetKind() == "Service" && s.GetName() == to.Name && only(s, "proxy") }) {
				err = errors.Join(err, fmt.Errorf("%s: %s leads to %s of %s, which is no Service with the proxy alone", o, rule.Host, to.Port.Name, to.Name))
			}
		}
	}
	return err
}

// only says whether a Service has that port and no other.
func only(o object, port string) bool {
	var s core.Service
	return strictYAML(o.text, &s) == nil && len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Name == port
}

// separate says which Secrets a gateway's pods have in common with nodes.
func separate(p podOf, pods []podOf) (err error) {
	if p.GetKind() != "Deployment" {
		return nil
	}
	for _, node := range pods {
		for _, a := range node.spec.Volumes {
			for _, b := range p.spec.Volumes {
				if a.Secret != nil && b.Secret != nil && a.Secret.SecretName == b.Secret.SecretName && node.GetKind() == "StatefulSet" {
					err = errors.Join(err, fmt.Errorf("%s has the Secret %s, as nodes", p, b.Secret.SecretName))
				}
			}
		}
	}
	return err
}

// closedPorts says which ports of nodes a policy opens to others, and which it names that are not there.
func closedPorts(o object, pods []podOf) (err error) {
	var n networking.NetworkPolicy
	if err := strictYAML(o.text, &n); err != nil {
		return err
	}
	to := selected(pods, n.Spec.PodSelector.MatchLabels)
	if len(to) != 1 {
		return fmt.Errorf("%s selects the pods of %d objects", o, len(to))
	}
	for _, rule := range n.Spec.Ingress {
		nodes := len(rule.From) == 1 && rule.From[0].PodSelector != nil && rule.From[0].PodSelector.MatchLabels["app.kubernetes.io/component"] == "node"
		if len(rule.Ports) == 0 {
			err = errors.Join(err, fmt.Errorf("%s opens all ports", o))
		}
		for _, port := range rule.Ports {
			name := port.Port.StrVal
			if _, there := to[0].port(name); !there {
				err = errors.Join(err, fmt.Errorf("%s: %s has no port %q", o, to[0], name))
			}
			if among := name == "gossip" || name == "gossip-udp" || name == "raft"; among && !nodes {
				err = errors.Join(err, fmt.Errorf("%s opens %s to others than nodes", o, name))
			}
			if to[0].GetKind() == "Deployment" && name != "proxy" && len(rule.From) == 0 {
				err = errors.Join(err, fmt.Errorf("%s opens the gateways' port %s to everybody", o, name))
			}
			if name == "admin" && slices.ContainsFunc(rule.From, everyPod) {
				err = errors.Join(err, fmt.Errorf("%s opens the gateways' port for operators to every pod", o))
			}
		}
	}
	return err
}

// everyPod says whether a peer of a policy is any pod of Kubernetes.
func everyPod(p networking.NetworkPolicyPeer) bool {
	return p.PodSelector == nil && p.NamespaceSelector != nil && len(p.NamespaceSelector.MatchLabels)+len(p.NamespaceSelector.MatchExpressions) == 0
}

// budgeted says whether a budget is for other pods, or lets more than one node end.
func budgeted(o object, pods []podOf) error {
	var b policy.PodDisruptionBudget
	if err := strictYAML(o.text, &b); err != nil {
		return err
	}
	to := selected(pods, b.Spec.Selector.MatchLabels)
	if len(to) != 1 {
		return fmt.Errorf("%s selects the pods of %d objects", o, len(to))
	}
	if b.Spec.MaxUnavailable == nil || to[0].GetKind() == "StatefulSet" && b.Spec.MaxUnavailable.IntValue() != 1 {
		return fmt.Errorf("%s lets more than one node end at a time", o)
	}
	return nil
}

// textAt is a field of an object that is a text; empty where it is not.
func textAt(o object, path ...string) string {
	var at any = o.Object
	for _, field := range path {
		of, _ := at.(map[string]any)
		at = of[field]
	}
	text, _ := at.(string)
	return text
}

// shownRoutes are the paths that docs/security.md says are served, which is generated from what is.
func shownRoutes(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^\\| `GET (/[a-z]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		routes[found[1]] = true
	}
	return routes
}

func TestConsistent(t *testing.T) {
	c, routes := loadChart(t), shownRoutes(t)
	for _, s := range sets(t) {
		all, err := rendering(c, s)
		if err == nil {
			err = consistent(all, routes)
		}
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}
