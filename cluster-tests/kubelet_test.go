package clustertests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// What of a rendered chart says which processes run, and how.
type (
	manifestObject struct {
		Kind     string
		Metadata struct {
			Name        string
			Annotations map[string]string
		}
		Data map[string]string
		Spec struct {
			podSpec `yaml:",inline"` // of a Pod

			Replicas int
			Template struct{ Spec podSpec }
		}
	}
	podSpec struct {
		Grace          int         `yaml:"terminationGracePeriodSeconds"`
		InitContainers []container `yaml:"initContainers"`
		Containers     []container
		Volumes        []struct {
			Name   string
			Secret struct {
				SecretName string `yaml:"secretName"`
			}
			ConfigMap struct{ Name string } `yaml:"configMap"`
		}
	}
	container struct {
		Args []string
		Env  []struct {
			Name, Value string
			ValueFrom   struct {
				FieldRef struct {
					FieldPath string `yaml:"fieldPath"`
				} `yaml:"fieldRef"`
			} `yaml:"valueFrom"`
		}
		ReadinessProbe struct {
			HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
		} `yaml:"readinessProbe"`
		Ports []struct {
			Name string
			Port int `yaml:"containerPort"`
		}
		VolumeMounts []struct {
			Name string
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
)

// A manifest is a rendered chart.
type manifest []manifestObject

// readManifest reads a golden file of cluster-tests/chart.
func readManifest(t *testing.T, name string) (m manifest) {
	t.Helper()
	text, err := os.ReadFile("chart/testdata/golden/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o manifestObject
		switch err := decoder.Decode(&o); {
		case errors.Is(err, io.EOF):
			return m
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		}
		m = append(m, o)
	}
}

// hooks are the objects that helm makes at a point of its work, in their order.
func (m manifest) hooks(point string) (all []manifestObject) {
	for _, o := range m {
		if o.Metadata.Annotations["helm.sh/hook"] == point {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b manifestObject) int {
		return strings.Compare(b.Metadata.Annotations["helm.sh/hook-weight"], a.Metadata.Annotations["helm.sh/hook-weight"])
	})
	return all
}

// find is the object of a kind and name.
func (m manifest) find(t *testing.T, kind, name string) manifestObject {
	t.Helper()
	for _, o := range m {
		if o.Kind == kind && o.Metadata.Name == name {
			return o
		}
	}
	t.Fatalf("the chart has no %s %s", kind, name)
	return manifestObject{}
}

// A kubelet runs the pods of a rendered chart as processes, each in a network of its own with the ports that the chart gives it. Names are
// found by DNS: a pod that starts again has another address, and one that is not there has none, as in Kubernetes. What is left out is
// what containers are for: images, users, limits of memory.
type kubelet struct {
	*testing.T

	lab      *network.Lab
	binary   string
	dir      string
	manifest manifest
	made     manifest          // the rendering that the Secrets are from, which are made once
	secrets  map[string]string // what the fields of Secrets have in them
	pods     map[string]*pod
	names    *nameServer
	lives    int
}

// A pod runs, or has run.
type pod struct {
	*process.Node

	name, host, address string
	spec                podSpec
	env                 []string
}

// inDNS is the name that the headless Service of the chart gives a pod.
func inDNS(pod string) string { return pod + ".jeton-nodes.limits.svc.cluster.local" }

// newKubelet is one without pods.
func newKubelet(t *testing.T, lab *network.Lab, binary string, m manifest) *kubelet {
	t.Helper()
	k := &kubelet{T: t, lab: lab, binary: binary, dir: t.TempDir(), manifest: m, made: m, pods: map[string]*pod{}, secrets: map[string]string{
		"cluster.key": "the secret of this cluster", "tokens": "the-token-of-an-operator",
	}}
	k.names = serveNames(t, lab.Router("dns"))
	k.names.set("shop.shop.svc", lab.Router("shop")) // where the test listens
	return k
}

// volume is the folder of a volume of a pod; data is where what is claimed stays between the lives of the pod.
func (k *kubelet) volume(pod string, spec podSpec, name string) string {
	k.Helper()
	dir, files := filepath.Join(k.dir, pod, name), map[string]string{}
	for _, v := range spec.Volumes {
		switch {
		case v.Name != name:
		case v.Secret.SecretName != "":
			for field := range k.made.find(k.T, "Secret", v.Secret.SecretName).Data {
				files[field] = k.secrets[field]
			}
		default:
			files = k.manifest.find(k.T, "ConfigMap", v.ConfigMap.Name).Data
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		k.Fatal(err)
	}
	for file, text := range files {
		text = strings.ReplaceAll(text, "/etc/jeton/admin/", filepath.Join(k.dir, pod, "admin-tokens")+"/") // as documents name it
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			k.Fatal(err)
		}
	}
	return dir
}

// wipe empties the volume that a pod has claimed.
func (k *kubelet) wipe(name string) {
	k.Helper()
	if err := os.RemoveAll(filepath.Join(k.dir, name, "data")); err != nil {
		k.Fatal(err)
	}
}

// variable is how a command line of Kubernetes names one of the environment.
var variable = regexp.MustCompile(`\$\(([A-Z_]+)\)`)

// command is that of a container, and its environment, with the paths that the volumes have here.
func (k *kubelet) command(p *pod, c container) (args, env []string) {
	k.Helper()
	var paths []string
	for _, m := range c.VolumeMounts {
		paths = append(paths, m.Path, k.volume(p.name, p.spec, m.Name))
	}
	here, values := strings.NewReplacer(paths...), map[string]string{}
	for _, e := range c.Env {
		value := here.Replace(e.Value)
		switch e.ValueFrom.FieldRef.FieldPath {
		case "":
		case "metadata.name":
			value = p.name
		case "metadata.labels['topology.kubernetes.io/zone']":
			value = "zone-" + p.name[len(p.name)-1:]
		default:
			k.Fatalf("%s: %s: the test does not know %s", p.name, e.Name, e.ValueFrom.FieldRef.FieldPath)
		}
		values[e.Name] = value
		env = append(env, e.Name+"="+value)
	}
	for _, a := range c.Args {
		args = append(args, here.Replace(variable.ReplaceAllStringFunc(a, func(name string) string {
			return values[strings.Trim(name, "$()")]
		})))
	}
	return args, env
}

// start starts a pod of the StatefulSet at a new address, with the volume that it has claimed.
func (k *kubelet) start(name string) *pod {
	k.Helper()
	return k.launch(name, k.manifest.find(k.T, "StatefulSet", "jeton").Spec.Template.Spec)
}

// launch starts a pod at a new address.
func (k *kubelet) launch(name string, spec podSpec) *pod {
	k.Helper()
	k.lives++
	p := &pod{name: name, host: fmt.Sprintf("%s-life-%d", name, k.lives), spec: spec}
	p.address = k.lab.Host(p.host)
	args, env := k.command(p, p.spec.Containers[0])
	p.env = env
	k.pods[name] = p
	k.names.set(inDNS(p.name), p.address)
	cmd := exec.Command(k.binary, args...) //nolint:noctx // it is ended by signals
	cmd.Env = append(process.Environ(), env...)
	k.lab.Enter(p.host, cmd)
	p.Node = process.LaunchCommand(k.T, cmd)
	return p
}

// ready returns when the pod's readiness probe succeeds.
func (k *kubelet) ready(pods ...*pod) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), process.Patience)
	defer cancel()
	for _, p := range pods {
		c := p.spec.Containers[0]
		at := ""
		for _, port := range c.Ports {
			if port.Name == c.ReadinessProbe.HTTPGet.Port {
				at = fmt.Sprintf("http://%s:%d%s", p.address, port.Port, c.ReadinessProbe.HTTPGet.Path)
			}
		}
		for !k.probe(ctx, at) {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				k.Fatalf("%s is not ready at %s; it said:\n%s", p.name, at, p.Log())
			}
		}
	}
}

func (k *kubelet) probe(ctx context.Context, at string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		k.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	a.Body.Close()
	return a.StatusCode == http.StatusOK
}

// remove ends a pod as Kubernetes does, and its process has to end by itself within the pod's time. The pod serves on during preStop, which
// is left out: no caller here goes by a Service.
func (k *kubelet) remove(p *pod) {
	k.Helper()
	began := time.Now()
	if code := p.Stop(); code != 0 {
		k.Fatalf("%s ended with exit code %d; it said:\n%s", p.name, code, p.Log())
	}
	if took := time.Since(began); took > time.Duration(p.spec.Grace)*time.Second {
		k.Errorf("%s took %v to end, and Kubernetes waits %d s", p.name, took, p.spec.Grace)
	}
}

// forget takes a pod's name out of DNS.
func (k *kubelet) forget(p *pod) {
	k.Helper()
	delete(k.pods, p.name)
	k.names.set(inDNS(p.name), "")
}

// exec is kubectl exec: a command of jeton in a pod.
func (k *kubelet) exec(p *pod, args ...string) string {
	k.Helper()
	out, err := k.run(p.host, p.env, args)
	if err != nil {
		k.Fatalf("%s: jeton %s: %v: %s", p.name, strings.Join(args, " "), err, out)
	}
	return out
}

// job runs the containers of a hook one after another, as a pod of its own.
func (k *kubelet) job(o manifestObject) {
	k.Helper()
	k.lives++
	p := &pod{name: o.Metadata.Name, host: fmt.Sprintf("job-%d", k.lives), spec: o.Spec.Template.Spec}
	if o.Kind == "Pod" {
		p.spec = o.Spec.podSpec
	}
	for _, c := range append(slices.Clone(p.spec.InitContainers), p.spec.Containers...) {
		args, env := k.command(p, c)
		out, err := k.run(p.host, env, args)
		if err != nil {
			k.Fatalf("%s: jeton %s: %v: %s", p.name, strings.Join(args, " "), err, out)
		}
		k.Logf("%s: jeton %s: %s", p.name, strings.Join(c.Args, " "), strings.TrimSpace(out))
	}
}

// run runs jeton at a host.
func (k *kubelet) run(host string, env, args []string) (string, error) {
	cmd := exec.CommandContext(k.Context(), k.binary, args...)
	cmd.Env = append(process.Environ(), env...)
	k.lab.Enter(host, cmd)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A podStatus is what a node says of the cluster.
type podStatus struct {
	Nodes []struct {
		ID, Name, Zone string
		Replica        int
	}
	Moves struct{ Left int }
}

// settled returns when so many nodes are members, share all partitions, and none is under way.
func (k *kubelet) settled(p *pod, nodes int) (s podStatus) {
	k.Helper()
	for late := time.Now().Add(process.Patience); ; {
		s = podStatus{}
		text, err := k.run(p.host, p.env, []string{"cluster", "status", "--output", "json"})
		if err == nil {
			err = json.Unmarshal([]byte(text), &s)
		}
		sharing := 0
		for _, n := range s.Nodes {
			if n.Replica > 0 {
				sharing++
			}
		}
		if err == nil && sharing == nodes && len(s.Nodes) == nodes && s.Moves.Left == 0 {
			return s
		}
		if time.Now().After(late) {
			k.Fatalf("%d nodes do not share all partitions after minutes: %v %+v; %s said:\n%s", nodes, err, s, p.name, p.Log())
		}
		<-time.After(100 * time.Millisecond)
	}
}
