package chart

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	core "k8s.io/api/core/v1"
)

// jeton builds the binary of this tree, once.
var jeton = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "jeton-chart-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "jeton")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", binary, "./cmd/jeton").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := jeton(); err == nil {
		os.RemoveAll(filepath.Dir(binary)) //nolint:errcheck,gosec // a folder for temporary files
	}
	os.Exit(code)
}

// variable is how a command line of Kubernetes names one of the environment.
var variable = regexp.MustCompile(`\$\(([A-Z_]+)\)`)

// commands has the binary read every command line of the chart, with the files that the chart gives it below dir.
func commands(dir string, all []object) error {
	binary, err := jeton()
	if err != nil {
		return err
	}
	pods, err := podsOf(all)
	if err != nil {
		return err
	}
	if err := files(dir, all); err != nil {
		return err
	}
	var errs []error
	for _, p := range pods {
		for _, c := range p.containers() {
			if len(c.Command) > 0 { // not jeton
				continue
			}
			errs = append(errs, command(binary, dir, p, c), addresses(p, c, all))
		}
	}
	return errors.Join(errs...)
}

// below is a text with the paths that the files have here.
func below(dir string) *strings.Replacer {
	return strings.NewReplacer("/etc/jeton", dir+"/etc/jeton", "/var/lib/jeton", dir+"/var/lib/jeton")
}

// files writes what pods find on their volumes.
func files(dir string, all []object) error {
	var errs []error
	put := func(path, text string) {
		path = filepath.Join(dir, path)
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	for _, o := range all {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		var of core.ConfigMap
		if err := strictYAML(o.text, &of); err != nil {
			return err
		}
		for name, folder := range map[string]string{"gateway.yaml": "gateway", "limits.yaml": "limits"} {
			if text, is := of.Data[name]; is {
				put("/etc/jeton/"+folder+"/"+name, below(dir).Replace(text))
			}
		}
	}
	put("limits.yaml", "limits: {api: {capacity: 1, refill: 1/s}}")
	put("/etc/jeton/zone/jeton.yaml", "zone: \"west\"\n") // as the init container writes it
	put("/etc/jeton/admin/tokens", strings.Repeat("token", 6))
	put("/etc/jeton/secrets/redis-tokens/tokens", strings.Repeat("redis", 6))
	put("/etc/jeton/secrets/token-of-gateways/token", strings.Repeat("other", 6))
	put("/etc/jeton/cluster/cluster.key", strings.Repeat("key", 10))
	put("/etc/jeton/secrets/api-keys/keys.jsonl", "# no key yet\n")
	return errors.Join(errs...)
}

// command has the binary read the command line and the environment of a container, and does not have it done.
func command(binary, dir string, p podOf, c core.Container) error {
	env, values := []string{"PATH=" + os.Getenv("PATH")}, map[string]string{}
	for _, e := range c.Env {
		value := below(dir).Replace(e.Value)
		if e.ValueFrom != nil {
			value = "a-value"
		}
		values[e.Name] = value
		env = append(env, e.Name+"="+value)
	}
	var args []string
	for _, a := range c.Args {
		args = append(args, variable.ReplaceAllStringFunc(below(dir).Replace(a), func(name string) string {
			if value, is := values[strings.Trim(name, "$()")]; is {
				return value
			}
			return name
		}))
	}
	said := strings.Join(args, " ")
	if strings.Contains(said, "$(") {
		return fmt.Errorf("%s: a variable is not set: %s", p, said)
	}
	how := "--help"
	if args[0] == "serve" || args[0] == "gateway" {
		how = "--check"
		args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--tls-") }) // there are no certificates
	}
	if args[0] == "serve" && !strings.Contains(said, "--limits=") {
		args = append(args, "--limits="+dir+"/limits.yaml") // something to check
	}
	cmd := exec.Command(binary, append(args, how)...) //nolint:noctx // it ends
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: jeton %s: %w: %s", p, said, err, out)
	}
	verb := "jeton"
	for _, a := range c.Args {
		if strings.HasPrefix(a, "--") || strings.Contains(verb, "drain") || strings.Contains(verb, "remove") {
			break
		}
		verb += " " + a
	}
	if how == "--help" && !strings.Contains(string(out), verb+" ") {
		return fmt.Errorf("%s: there is no command %s: %s", p, verb, out)
	}
	if how == "--check" && strings.Contains(string(out), "JETON_") { // a warning of a variable that is no option
		return fmt.Errorf("%s: %s", p, out)
	}
	return nil
}

// listener finds the options of a node that say where it listens.
var listener = regexp.MustCompile(`^--listen-([a-z]+)=:([0-9]+)$`)

// addresses says which addresses of a command line are not those of the chart's Services and pods.
func addresses(p podOf, c core.Container, all []object) (err error) {
	wrong := func(form string, args ...any) {
		err = errors.Join(err, fmt.Errorf("%s: "+form, append([]any{p}, args...)...))
	}
	for _, a := range c.Args {
		option, value, _ := strings.Cut(a, "=")
		if found := listener.FindStringSubmatch(a); found != nil {
			if at, there := p.port(found[1]); !there || fmt.Sprint(at) != found[2] {
				wrong("%s, and the port %s of the pod is %d", a, found[1], at)
			}
		}
		if option != "--join" && option != "--server" && option != "--advertise" {
			continue
		}
		for one := range strings.SplitSeq(value, ",") {
			host, port, failure := net.SplitHostPort(one)
			if option == "--advertise" {
				host, port, failure = one, "7700", nil
			}
			labels := strings.SplitN(host, ".", 5)
			if failure != nil || len(labels) != 5 || labels[2] != namespace || labels[3] != "svc" {
				wrong("%s: %q is no name of a pod", option, one)
				continue
			}
			if !reachable(all, labels[0], labels[1], port) {
				wrong("%s: no Service names %s, or has its port", option, one)
			}
		}
	}
	return err
}

// reachable says whether a headless Service of that name has the port and names pods of a StatefulSet so.
func reachable(all []object, pod, service, port string) bool {
	named := false
	for _, o := range all {
		if o.GetKind() == "StatefulSet" && textAt(o, "spec", "serviceName") == service {
			named = pod == "$(POD_NAME)" || strings.HasPrefix(pod, o.GetName()+"-")
		}
	}
	for _, o := range all {
		var s core.Service
		if o.GetKind() == "Service" && o.GetName() == service && strictYAML(o.text, &s) == nil {
			return named && slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return fmt.Sprint(p.Port) == port })
		}
	}
	return false
}

func TestCommands(t *testing.T) {
	c := loadChart(t)
	for _, s := range sets(t) {
		t.Run(s.name, func(t *testing.T) {
			all, err := rendering(c, s)
			if err == nil {
				err = commands(t.TempDir(), all)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
