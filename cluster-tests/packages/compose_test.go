package packages

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

const composeFolder = "../../deploy/compose/"

// A composition is compose.yaml as far as it goes: other fields are refused.
type composition struct {
	Name     string
	Services map[string]service
	Configs  map[string]struct{ File string }
	Secrets  map[string]struct{ File string }
	Volumes  map[string]struct{}
	Hardened any `yaml:"x-hardened"`
	Node     any `yaml:"x-node"`
	Options  any `yaml:"x-options"`
}

type service struct {
	Image           string
	User            string
	ReadOnly        bool     `yaml:"read_only"`
	CapDrop         []string `yaml:"cap_drop"`
	SecurityOpt     []string `yaml:"security_opt"`
	Restart         string
	StopGracePeriod string `yaml:"stop_grace_period"`
	Command         []string
	Environment     map[string]string
	Ports           []string
	Volumes         []string
	Secrets         []string
	Configs         []struct{ Source, Target string }
	Healthcheck     struct {
		Test              []string
		Interval, Timeout string
		StartPeriod       string `yaml:"start_period"`
	}
}

func readComposition(t *testing.T) composition {
	t.Helper()
	text, err := os.ReadFile(composeFolder + "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var c composition
	if err := decoder.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The containers of compose.yaml run as it says, with the files of the image: each in a network namespace of its own, which a bridge
// connects. They found a cluster, and the gateway decides by it.
func TestCompose(t *testing.T) {
	c, i := readComposition(t), readImage(t)
	if len(c.Services) != 4 {
		t.Fatalf("%d services", len(c.Services))
	}
	var names, hosts []string
	for name := range c.Services {
		names = append(names, name)
	}
	slices.Sort(names)
	for n, name := range names {
		hosts = append(hosts, fmt.Sprintf("10.99.0.%d %s", n+2, name))
	}
	ip(t, "link", "add", "compose", "type", "bridge")
	ip(t, "addr", "add", "10.99.0.1/24", "dev", "compose")
	ip(t, "link", "set", "compose", "up")
	boxes := map[string]*box{}
	for n, name := range names {
		boxes[name] = newBox(t, c, name, i, fmt.Sprintf("10.99.0.%d", n+2), strings.Join(hosts, "\n")+"\n")
	}
	for _, name := range names {
		boxes[name].start()
	}
	for _, name := range names {
		until(t, func() (string, bool) { return name + " is not healthy", boxes[name].healthy() })
	}
	boxes["node-1"].mustAskAt(boxes["gateway"].address, http.StatusOK)
	for _, name := range names {
		boxes[name].daemon.stop()
	}
}

// Where Docker has compose, it takes compose.yaml too.
func TestComposeConfig(t *testing.T) {
	readComposition(t)
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		t.Log("there is no docker compose here: compose.yaml is read by this test alone")
		return
	}
	if said, err := exec.CommandContext(t.Context(), "docker", "compose", "--file", composeFolder+"compose.yaml", "config", "--quiet").CombinedOutput(); err != nil {
		t.Errorf("docker compose config: %v: %s", err, said)
	}
}

// A box is a container of a composition.
type box struct {
	*machine

	service service
	image   image
	netns   string
	daemon  *daemon
}

// ip runs ip.
func ip(t *testing.T, args ...string) {
	t.Helper()
	if said, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %q: %v: %s", args, err, said)
	}
}

// newBox makes the container of a service, as Docker would.
func newBox(t *testing.T, c composition, name string, i image, address, hosts string) *box {
	t.Helper()
	s := c.Services[name]
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !strings.HasPrefix(s.Image, "${JETON_IMAGE:-ghcr.io/jeton-dev/jeton:") {
		t.Errorf("%s: %+v", name, s)
	}
	i.user = credential(t, s.User)
	b := &box{machine: newContainer(t, i, address), service: s, image: i, netns: "jeton-" + name}
	b.write("/etc/hosts", "127.0.0.1 localhost\n"+hosts, 0o644)
	for _, config := range s.Configs {
		text, err := os.ReadFile(composeFolder + c.Configs[config.Source].File)
		if err != nil {
			t.Fatal(err)
		}
		b.write(config.Target, string(text), 0o644)
	}
	for _, secret := range s.Secrets {
		b.write("/run/secrets/"+secret, strings.Repeat("0123456789abcdef", 4)+"\n", 0o400)
		if err := os.Chown(b.root+"/run/secrets/"+secret, int(i.user.Uid), -1); err != nil || c.Secrets[secret].File == "" {
			t.Fatal(secret, err)
		}
	}
	for _, volume := range s.Volumes {
		if _, known := c.Volumes[strings.TrimSuffix(volume, ":"+i.volume)]; !known {
			t.Errorf("%s: volume %s", name, volume)
		}
	}
	b.freeze()

	ip(t, "netns", "add", b.netns)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", b.netns).Run() }) //nolint:noctx // the test's has ended
	end := "c" + address[strings.LastIndex(address, ".")+1:]
	ip(t, "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", b.netns)
	ip(t, "link", "set", end, "master", "compose", "up")
	ip(t, "-n", b.netns, "addr", "add", address+"/24", "dev", "eth0")
	ip(t, "-n", b.netns, "link", "set", "eth0", "up")
	ip(t, "-n", b.netns, "link", "set", "lo", "up")
	return b
}

// command is a program of the container in its network, with the environment of the service.
func (b *box) command(words ...string) *exec.Cmd {
	args := append([]string{"ip", "netns", "exec", b.netns, "chroot", fmt.Sprintf("--userspec=%d:%d", b.image.user.Uid, b.image.user.Gid), b.root}, words...)
	cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, b.image.environ...)
	for name, value := range b.service.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}

func (b *box) start() {
	b.Helper()
	words := b.service.Command
	if words == nil {
		words = b.image.command
	}
	b.daemon = b.machine.start(b.command(append(slices.Clone(b.image.entry), words...)...))
}

// healthy runs the health check of the service, or that of the image.
func (b *box) healthy() bool {
	test := b.image.health
	if own := b.service.Healthcheck.Test; own != nil {
		if own[0] != "CMD" {
			b.Fatalf("the health check %q needs a shell", own)
		}
		test = own[1:]
	}
	return b.command(test...).Run() == nil
}
