package packages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const dockerfile = "../../deploy/container/Dockerfile"

// An image is what the last stage of a Dockerfile of a few words says.
type image struct {
	copies                 [][]string // the words of each COPY
	user                   syscall.Credential
	environ                []string
	entry, command, health []string
	volume                 string
}

// readImage reads the Dockerfile, and refuses words that it does not know.
func readImage(t *testing.T) image {
	t.Helper()
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	_, last, found := strings.Cut(string(text), "\nFROM scratch\n")
	if !found || strings.Contains(last, "\nFROM ") {
		t.Fatal("the last stage of the Dockerfile is not FROM scratch")
	}
	var i image
	for line := range strings.Lines(last) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "#", "ARG", "EXPOSE":
		case "COPY":
			i.copies = append(i.copies, strings.Fields(rest))
		case "USER":
			i.user = credential(t, rest)
		case "ENV":
			i.environ = append(i.environ, rest)
		case "VOLUME":
			i.volume = rest
		case "ENTRYPOINT":
			i.entry = list(t, rest)
		case "CMD":
			i.command = list(t, rest)
		case "HEALTHCHECK":
			_, rest, _ = strings.Cut(rest, " CMD ")
			i.health = list(t, rest)
		default:
			t.Fatalf("Dockerfile: %q", line)
		}
	}
	if i.user.Uid == 0 || len(i.entry) == 0 || len(i.health) == 0 {
		t.Fatalf("the image runs as root, or has no program or no health check: %+v", i)
	}
	return i
}

// credential reads uid:gid, both numbers.
func credential(t *testing.T, text string) syscall.Credential {
	t.Helper()
	user, group, _ := strings.Cut(text, ":")
	uid, err := strconv.ParseUint(user, 10, 32)
	gid, wrong := strconv.ParseUint(group, 10, 32)
	if err != nil || wrong != nil {
		t.Fatalf("%q is no number of a user and of a group", text)
	}
	return syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func list(t *testing.T, text string) (words []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return words
}

// newContainer is a machine with the files of the image and nothing else, all of them read-only but for the volume. What the image takes from
// a Debian is taken from ours.
func newContainer(t *testing.T, i image, address string) *machine {
	t.Helper()
	root := t.TempDir()
	for _, words := range i.copies {
		i.copy(t, root, words)
	}
	for _, dir := range []string{"proc", "etc/jeton", "run/secrets"} { // which Docker makes
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // likewise for everybody
			t.Fatal(err)
		}
	}
	m := &machine{T: t, root: root, address: address}
	mount(t, root, root, "", syscall.MS_BIND, "")
	mount(t, "proc", root+"/proc", "proc", 0, "")
	mount(t, "tmpfs", root+i.volume, "tmpfs", 0, fmt.Sprintf("mode=0700,uid=%d,gid=%d", i.user.Uid, i.user.Gid))
	return m
}

// freeze makes all files of a container but for its volume read-only.
func (m *machine) freeze() {
	m.Helper()
	if err := syscall.Mount("", m.root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		m.Fatal(err)
	}
}

// copy does what a COPY says.
func (i image) copy(t *testing.T, root string, words []string) {
	t.Helper()
	stage, mode, owner := "", "", ""
	for ; strings.HasPrefix(words[0], "--"); words = words[1:] {
		switch option, value, _ := strings.Cut(words[0], "="); option {
		case "--from":
			stage = debian(t)
		case "--chmod":
			mode = value
		case "--chown":
			owner = value
		default:
			t.Fatalf("COPY %s", words[0])
		}
	}
	from, to := stage+words[0], filepath.Join(root, words[1])
	if stage == "" {
		from = "../../" + words[0]
	}
	switch words[0] {
	case "$TARGETPLATFORM/jeton":
		from = filepath.Join(folder(t), "now", "jeton")
	case "/data": // which a RUN has made
		from = t.TempDir()
	}
	for _, args := range [][]string{{"mkdir", "-p", filepath.Dir(to)}, {"cp", "-rL", from, to}, {"chmod", mode, to}, {"chown", owner, to}} {
		if args[1] == "" {
			continue
		}
		if said, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, said)
		}
	}
}

// container is a command line of the image, whose program it runs with other words or with its own; more are variables of the environment.
func (m *machine) container(i image, words []string, more ...string) *exec.Cmd {
	m.Helper()
	if words == nil {
		words = i.command
	}
	cmd := m.command(i.user, append(slices.Clone(i.entry), words...)...)
	cmd.Env = append(slices.Clone(i.environ), more...)
	return cmd
}

// The files of the image are enough: a node is founded, checks, tells its health, and a gateway asks it, with nothing writable but the volume.
func TestImage(t *testing.T) {
	i := readImage(t)
	m := newContainer(t, i, "127.0.0.1")
	m.write("/etc/jeton/limits.yaml", limits, 0o644)
	gateway, err := os.ReadFile("../../deploy/packages/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m.write("/etc/jeton/gateway.yaml", string(gateway), 0o644)
	m.freeze()
	if err := os.WriteFile(m.root+"/etc/new", nil, 0o600); err == nil {
		t.Error("the root file system is writable")
	}

	node := m.start(m.container(i, nil, "JETON_LIMITS=/etc/jeton/limits.yaml"))
	healthy := func(want int, more ...string) bool {
		cmd := m.command(i.user, append(slices.Clone(i.health), more...)...)
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Logf("health: exit code %d: %s", code, said)
			return false
		}
		return true
	}
	until(t, func() (string, bool) { return "the node is not healthy", healthy(0) })
	if said, err := m.container(i, []string{"check", "demo", "k"}).CombinedOutput(); err != nil || !strings.Contains(string(said), "allowed") {
		t.Errorf("check: %v: %s", err, said)
	}
	door := m.start(m.container(i, []string{"gateway", "--config", "/etc/jeton/gateway.yaml"}))
	until(t, func() (string, bool) { return "the gateway is not healthy", healthy(0, "--gateway", "127.0.0.1:7781") })
	m.mustAsk(http.StatusOK)
	door.stop()
	node.stop()
	if !healthy(1) || !healthy(1, "--gateway", "127.0.0.1:7781") {
		t.Error("what has stopped is not unhealthy")
	}
}

// The image of another platform is made without emulation: what runs, runs on the platform that builds, and no stage but the last is of another.
func TestImageNeedsNoEmulation(t *testing.T) {
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		from, is := strings.CutPrefix(strings.TrimSpace(line), "FROM ")
		if is && from != "scratch" && !strings.HasPrefix(from, "--platform=$BUILDPLATFORM ") {
			t.Errorf("%q runs on the platform of the image", line)
		}
	}
	for _, words := range readImage(t).copies {
		from := words[len(words)-2]
		if words[0] == "--from=system" && from != "/data" && !strings.HasPrefix(from, "/etc/") && !strings.HasPrefix(from, "/usr/share/") {
			t.Errorf("%s is taken from a system of another platform", from)
		}
	}
}

// Authorities that HTTPS is checked by are in the image, where Go looks for them.
func TestImageHasAuthorities(t *testing.T) {
	m := newContainer(t, readImage(t), "127.0.0.1")
	if text := m.read("/etc/ssl/certs/ca-certificates.crt"); strings.Count(text, "BEGIN CERTIFICATE") < 50 {
		t.Errorf("%d bytes", len(text))
	}
}
